"""How the processes of this program find each other and talk."""
