"""Options of programs: with values, with aliases, with messages, and with files to write.

Nothing here decides which advice an agent gets: missing programs are parsed by general rules.
"""

from typing import Final

VALUES: Final = {
    "git": "-C -c --git-dir --work-tree --namespace --config-env --super-prefix",
    "git commit": "-m --message -F --file -C -c --reuse-message --reedit-message --fixup --squash --author --date -t "
    "--template --trailer --cleanup --pathspec-from-file",
    "git tag": "-m --message -F --file -u --local-user --sort --format --cleanup",
    "git merge": "-m --message -F --file -s --strategy -X --strategy-option --into-name --cleanup",
    "git stash push": "-m --message --pathspec-from-file",
    "git notes add": "-m --message -F --file -C -c",
    "git push": "-o --push-option --repo --receive-pack --exec",
    "git rebase": "-x --exec -s --strategy -X --strategy-option --onto",
    "git log": "-n --max-count --author --grep --since --until --format --pretty -S -G -L --date",
    "git grep": "-e -f -A -B -C -m",
    "git clone": "-b --branch -o --origin -c --config -j --jobs -u --upload-pack --depth --reference --filter --template",
    "git worktree": "-b -B --reason",
    "gh": "-R --repo --hostname",
    "gh pr create": "-t --title -b --body -F --body-file -B --base -H --head -l --label -a --assignee -r --reviewer -m "
    "--milestone -p --project -T --template",
    "gh pr edit": "-t --title -b --body -F --body-file -B --base -m --milestone --add-label --remove-label "
    "--add-reviewer --remove-reviewer --add-assignee --remove-assignee --add-project --remove-project",
    "gh pr merge": "-t --subject -b --body -F --body-file -A --author-email --match-head-commit",
    "gh pr review": "-b --body -F --body-file",
    "gh pr comment": "-b --body -F --body-file",
    "gh pr close": "-c --comment",
    "gh pr list": "-S --search -L --limit -s --state -l --label -a --assignee -A --author -B --base -H --head -q --jq "
    "--json",
    "gh issue create": "-t --title -b --body -F --body-file -l --label -a --assignee -m --milestone -p --project -T "
    "--template",
    "gh issue edit": "-t --title -b --body -F --body-file -m --milestone --add-label --remove-label --add-assignee",
    "gh issue comment": "-b --body -F --body-file",
    "gh issue close": "-c --comment -r --reason",
    "gh release create": "-t --title -n --notes -F --notes-file --target --notes-start-tag --discussion-category",
    "gh release edit": "-t --title -n --notes -F --notes-file --target --tag",
    "gh api": "-X --method -f --raw-field -F --field -H --header -q --jq -t --template --input -p --preview --cache",
    "gh run": "-b --branch -w --workflow -L --limit -s --status -j --job -q --jq --json",
    "glab": "-R --repo",
    "glab mr create": "-t --title -d --description -b --target-branch -s --source-branch -l --label -a --assignee -m "
    "--milestone --reviewer",
    "jj": "-R --repository -m --message --at-operation --config",
    "hg commit": "-m --message -l --logfile -u --user -d --date",
    "npm": "--prefix -C -w --workspace --registry --loglevel --tag --otp",
    "pnpm": "--filter -F --dir -C --registry --reporter",
    "yarn": "--cwd --registry",
    "bun": "--cwd --filter -c --config",
    "docker": "-H --host --context -c --config -l --log-level",
    "docker compose": "-f --file -p --project-name --profile --env-file --project-directory --ansi --progress",
    "docker build": "-t --tag -f --file --build-arg --target --platform --label --cache-from --secret --progress",
    "docker-compose": "-f --file -p --project-name --profile --env-file --project-directory --ansi --progress --context",
    "podman": "-c --connection --url --log-level",
    "kubectl": "-n --namespace --context --kubeconfig --cluster --user -s --server -l --selector -o --output --as "
    "--token",
    "helm": "-n --namespace --kube-context --kubeconfig -f --values --set --version",
    "make": "-C --directory -f --file --makefile -I --include-dir -j --jobs -o -W",
    "just": "-f --justfile -d --working-directory",
    "task": "-d --dir -t --taskfile -o --output",
    "gradle": "-p --project-dir -b --build-file -x --exclude-task -I --init-script -g",
    "gradlew": "-p --project-dir -b --build-file -x --exclude-task -I --init-script -g",
    "mvn": "-f --file -pl --projects -P --activate-profiles -s --settings -D",
    "mvnw": "-f --file -pl --projects -P --activate-profiles -s --settings -D",
    "tox": "-e -c -f --workdir",
    "nox": "-s --session -f --noxfile -k",
    "pytest": "-k -m -p -n -c -o -W --rootdir --maxfail --durations --tb --timeout --ignore --deselect --junitxml --dist",
    "cargo": "--manifest-path -p --package --target-dir --color -Z --config -C -j --jobs -F --features --target --bin "
    "--test --example --profile --exclude",
    "go": "-C -run -count -timeout -tags -o -ldflags -bench",
    "uv": "--directory --project --cache-dir --config-file --color",
    "uv pip": "-p --python -r --requirement --index-url",
    "pip": "-r --requirement -c --constraint -e --editable -t --target -i --index-url --extra-index-url --python --log",
    "poetry": "-C --directory -P --project",
    "systemctl": "-H --host -M --machine -n -o -t",
    "aws": "--profile --region --output --endpoint-url --query",
    "gcloud": "--project --account --configuration --format --region --zone",
    "az": "--subscription -o --output --query",
    "heroku": "-a --app -r --remote",
    "vercel": "--token --scope -S --cwd -A -e --env -b",
    "firebase": "-P --project --token -c --config",
    "wrangler": "-c --config -e --env --cwd",
    "supabase": "--workdir --profile",
    "fly": "-a --app -c --config",
    "terraform": "-var -var-file -target -out",
    "turbo": "--filter -F --cwd",
    "nx": "-p --project --projects",
    "sed": "-e --expression -f --file -l",
    "perl": "-e -E -I",
    "grep": "-e -f -A -B -C -m --include --exclude --exclude-dir",
    "rg": "-e -f -A -B -C -m -g --glob -t --type -T",
    "curl": "-X -H -d -o -u -F -A -e -b -c -m -T -w --request --header --data --output --user --form --url --max-time",
    "wget": "-O -o -P --output-document",
    "tee": "--output-error",
    "head": "-n -c",
    "tail": "-n -c",
    "cp": "-t --target-directory -S --suffix",
    "mv": "-t --target-directory -S --suffix",
    "install": "-t --target-directory -m --mode -o -g",
    "touch": "-d -t -r --date --reference",
    "truncate": "-s --size -r --reference",
    "psql": "-c --command -f --file -h --host -p --port -U --username -d --dbname -v",
}
"""Options of programs and sub-commands that take a value. A program's own options also apply to its sub-commands."""
GIT_FOLDER: Final = "--git-dir"
FOLDERS: Final = {
    "git": f"-C --work-tree {GIT_FOLDER}",
    "make": "-C --directory",
    "gmake": "-C --directory",
    "npm": "-C --prefix",
    "pnpm": "-C --dir",
    "yarn": "--cwd",
    "bun": "--cwd",
    "uv": "--directory --project",
    "poetry": "--directory --project",
    "just": "-d --working-directory",
    "task": "-d --dir",
    "go": "-C",
    "env": "-C --chdir",
    "sudo": "-D --chdir",
}
"""Options that change the folder in which a program works."""
GLOBAL_ONLY: Final = frozenset({"git", "docker"})
"""Programs whose own options have another meaning after the sub-command."""
WHOLE: Final = frozenset(
    "find java javac go terraform ffmpeg gcc clang openssl xcodebuild dotnet az tsc mvn mvnw".split()
)
"""Programs whose long options begin with one dash."""
PASSING: Final = frozenset("npm pnpm yarn bun cargo dotnet npm-run-all nox".split())
"""Programs that pass the words after `--` to another program, which may have options, too."""
TARGETS: Final = frozenset(
    "make gmake just task gradle gradlew mvn mvnw tox nox npm-run-all run-s run-p pytest rake".split()
)
"""Programs whose operands may be in any order."""
RUNNERS: Final = frozenset("npm pnpm yarn".split())
SCRIPTS: Final = frozenset("test start stop restart".split())
"""Scripts that the runners start without `run`."""
SAME: Final = {
    "git push": "-f=--force -d=--delete -n=--dry-run -u=--set-upstream",
    "git commit": "-n=--no-verify -a=--all -s=--signoff -m=--message -F=--file",
    "git add": "-A=--all -p=--patch -f=--force -u=--update",
    "git branch": "-d=--delete -f=--force",
    "git clean": "-f=--force -n=--dry-run",
    "git rebase": "-i=--interactive",
    "git status": "-s=--short -b=--branch",
    "git pull": "-r=--rebase",
    "git checkout": "-f=--force",
    "git fetch": "-f=--force -a=--all",
    "git": "-P=--no-pager",
    "git stash": "-u=--include-untracked",
    "git tag": "-d=--delete -f=--force -m=--message",
    "rm": "-R=-r -r=--recursive -f=--force -i=--interactive",
    "cp": "-R=-r -r=--recursive -f=--force",
    "npm": "-g=--global -D=--save-dev -f=--force",
    "pnpm": "-g=--global -D=--save-dev -f=--force",
    "docker": "-d=--detach -f=--force -i=--interactive -t=--tty",
    "docker system": "-a=--all -f=--force",
    "docker rm": "-f=--force -v=--volumes",
    "docker-compose": "-d=--detach -v=--volumes -f=--file",
    "docker compose": "-d=--detach -v=--volumes -f=--file",
    "kubectl": "-f=--filename -A=--all-namespaces",
    "gh pr merge": "-s=--squash -m=--merge -r=--rebase -d=--delete-branch",
    "gh pr create": "-d=--draft -t=--title -b=--body",
    "pytest": "-n=--numprocesses -x=--exitfirst -q=--quiet -v=--verbose",
    "sed": "-i=--in-place -n=--quiet -e=--expression",
    "gsed": "-i=--in-place -n=--quiet -e=--expression",
    "grep": "-r=--recursive -i=--ignore-case -n=--line-number",
    "make": "-B=--always-make -k=--keep-going -n=--dry-run",
}
"""Options with two names."""
FORCE: Final = "--force"
"""The option of `git push` that a `+` before a branch is equivalent to."""

IDLE: Final = frozenset(
    "awk cat cd cp echo export find gh git grep head less ls mkdir mv printf rg rm sed tail touch tree wc which".split()
)
"""Programs that never check anything, whatever their file operands are called."""

_GH: Final = frozenset("-t --title --subject -b --body -n --notes -c --comment".split())
_GIT: Final = frozenset({"-m", "--message"})
TEXTS: Final = {
    "git commit": _GIT,
    "git tag": _GIT,
    "git merge": _GIT,
    "git stash": _GIT,
    "git notes": _GIT,
    "gh pr": _GH,
    "gh issue": _GH,
    "gh release": _GH,
    "gh api": frozenset("-f -F --field --raw-field".split()),
    "glab mr": frozenset("-t --title -d --description".split()),
    "jj": _GIT,
    "hg commit": _GIT,
}
TRAILER: Final = "--trailer"
FILED: Final = frozenset("-F --file --body-file --notes-file --input".split())
"""Options that name a file with a message."""
TITLES: Final = frozenset("-t --title --subject".split())

ALL, LAST = "all", "last"
WRITES: Final = {
    "tee": ALL,
    "rm": ALL,
    "unlink": ALL,
    "rmdir": ALL,
    "touch": ALL,
    "truncate": ALL,
    "shred": ALL,
    "mv": ALL,
    "cp": LAST,
    "ln": LAST,
    "install": LAST,
    "rsync": LAST,
    "git rm": ALL,
    "git mv": ALL,
    "sed": ALL,
    "gsed": ALL,
    "perl": ALL,
}
"""The operands that a program writes or removes."""
IN_PLACE: Final = frozenset({"sed", "gsed", "perl"})
"""Programs that write only with -i, and whose first operand is a script unless an option has one."""
SCRIPTED: Final = frozenset("-e -E --expression -f --file".split())
"""Options with the script of such a program."""
DRY: Final = frozenset({"rsync", "git rm", "git mv"})
"""Programs that write nothing with -n."""
FETCHING: Final = frozenset({"curl", "wget"})
OUTPUTS: Final = frozenset("-o -O --output --output-document".split())
"""Options for the output file of programs that download."""

REFERENCES: Final = tuple("--tags --delete --all --mirror -d".split())
ELSEWHERE_OPTIONS: Final = tuple("-C --git-dir --work-tree".split())
NEW_BRANCH: Final = tuple("-b -B -c -C -d -p --orphan --detach --create --force-create --patch".split())
MOVES: Final = frozenset("cd pushd popd gh".split())
"""Options with which git uses another remote, folder or branch, and programs after which the branch is unknown."""
