"""reproduces the table of DESIGN.md from reference.py"""
from opt2 import *
import reference as R
from reading import pieces
import sys
from units import MODELS,cal
from variants import tokavg
# scale of each model
class Emb:
    def __init__(s,V): s.V=V; s.t=[c['text'] for c in cal]
    def __call__(s,texts): return s.V[[s.t.index(x) for x in texts]]
SC={m:R.measure(Emb(V)) for m,V in MODELS.items()}; SC['int8']=R.measure(Emb(np.load('vec/cal.int8.npy')))
if __name__=='__main__':
    print({m:(round(s.unrelated,3),round(s.spread,3),round(s.unit,3)) for m,s in SC.items()})
    for s,o in [p for p in ALLV['base'] if not sys.argv[1:] or sys.argv[1] in p[0].name]:
        sc=R.DEFAULT; out=[]
        for x in (s,o):
            N=x.N; rd=np.array([R.reading([(c,not u) for u,c in pieces(t)]) for t in x.q])
            sh=min(N,50)/50; nz=sh*x.mu[:,0]+(1-sh)*.03
            con=cc(x,25) if N>=25 else np.ones_like(x.top)
            w=np.array([R.semantic_weight(b,n,r) for b,n,r in zip(x.C.max(1),nz,rd)])[:,None]
            f=w*np.clip(x.C,0,1)+R.LEXICAL_WEIGHT*con*x.B**2/(x.B**2+400)
            e=(x.C-nz[:,None])/sc.unit+10*x.B/(x.B+15); t=np.array([R.least(N,n,r) for n,r in zip(nz,rd)])
            od=order(f); ok=(np.take_along_axis(e,od,1)>=t[:,None]).any(1); out.append((f,e,t,od,ok))
        (f,e,t,od,ok),(_,_,_,_,oko)=out
        mask=(e>=R.OTHERS*t[:,None])&ok[:,None]
        td=today(s.C,s.B); tl=.1+.0145*math.log(s.N)-.045*(s.nt>=7); tm=(td>=2/3*tl[:,None])&(td.max(1)>=tl)[:,None]; tlo=.1+.0145*math.log(s.N)-.045*(o.nt>=7); tdo=today(o.C,o.B).max(1)>=tlo
        found=np.array([len(set(od[i])&r)>0 for i,r in enumerate(s.rel)]); foundt=np.array([len(set(order(td)[i])&r)>0 for i,r in enumerate(s.rel)])
        print('%-14s | %.3f/%.3f | %.3f/%.3f | %.3f/%.3f | %.3f/%.3f | %.3f/%.3f | %.3f/%.3f | %3.0f > %3.0f | %4.1f > %4.1f'%(s.name,*metrics(s,lexsc(s.B),s.B>0),*metrics(s,s.C),*metrics(s,td),*metrics(s,f),*metrics(s,td,tm),*metrics(s,f,mask),100*(~tdo).mean(),100*(~oko).mean(),100*(~tm.any(1))[foundt].mean(),100*(~ok)[found].mean()))
