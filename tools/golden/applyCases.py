"""Rewrites the examples in src/ops/state/applyCases.ts with what TensorFlow's optimizer kernels give.

Run: TF_CPP_MIN_LOG_LEVEL=3 python -P tools/golden/applyCases.py && npx biome check --write src/ops/state/applyCases.ts
Only the table is replaced; what comes before it in the file stays.
"""
import os
import tensorflow.compat.v1 as tf, numpy as np
tf.disable_eager_execution()
from tensorflow.python.ops import gen_training_ops as gt
rules={
 'GradientDescent':([], 'alpha delta', None,[{}]),
 'ProximalGradientDescent':([], 'alpha l1 l2 delta','alpha l1 l2 grad indices',[{}]),
 'Momentum':(['accum'],'lr grad momentum','lr grad indices momentum',[{}, {'use_nesterov':True}]),
 'KerasMomentum':(['accum'],'lr grad momentum','lr grad indices momentum',[{}, {'use_nesterov':True}]),
 'Adam':(['m','v'],'beta1_power beta2_power lr beta1 beta2 epsilon grad',None,[{}, {'use_nesterov':True}]),
 'AdamWithAmsgrad':(['m','v','vhat'],'beta1_power beta2_power lr beta1 beta2 epsilon grad',None,[{}]),
 'AdaMax':(['m','v'],'beta1_power lr beta1 beta2 epsilon grad',None,[{}]),
 'Adagrad':(['accum'],'lr grad','lr grad indices',[{}, {'update_slots':False}]),
 'AdagradV2':(['accum'],'lr epsilon grad','lr epsilon grad indices',[{}, {'update_slots':False}]),
 'AdagradDA':(['gradient_accumulator','gradient_squared_accumulator'],'grad lr l1 l2 global_step','grad indices lr l1 l2 global_step',[{}]),
 'Adadelta':(['accum','accum_update'],'lr rho epsilon grad','lr rho epsilon grad indices',[{}]),
 'RMSProp':(['ms','mom'],'lr rho momentum epsilon grad','lr rho momentum epsilon grad indices',[{}]),
 'CenteredRMSProp':(['mg','ms','mom'],'lr rho momentum epsilon grad','lr rho momentum epsilon grad indices',[{}]),
 'Ftrl':(['accum','linear'],'grad lr l1 l2 lr_power','grad indices lr l1 l2 lr_power',[{}, {'multiply_linear_by_lr':True}]),
 'FtrlV2':(['accum','linear'],'grad lr l1 l2 l2_shrinkage lr_power','grad indices lr l1 l2 l2_shrinkage lr_power',[{}, {'multiply_linear_by_lr':True}]),
 'ProximalAdagrad':(['accum'],'lr l1 l2 grad','lr l1 l2 grad indices',[{}]),
 'AddSign':(['m'],'lr alpha sign_decay beta grad',None,[{}]),
 'PowerSign':(['m'],'lr logbase sign_decay beta grad',None,[{}]),
}
hyper={'alpha':.1,'lr':.1,'l1':.05,'l2':.25,'momentum':.9,'beta1_power':.81,'beta2_power':.998,'beta1':.9,'beta2':.999,'epsilon':.001,'rho':.9,'lr_power':-.5,'l2_shrinkage':.1,'sign_decay':.75,'beta':.8,'logbase':.5,'global_step':3}
fn={n.replace('_','').lower():n for n in dir(gt)}
slotvals={'accum':.5,'m':.1,'v':.2,'vhat':.15,'gradient_accumulator':.3,'gradient_squared_accumulator':.4,'accum_update':.05,'ms':.8,'mom':.02,'mg':.1,'linear':-.2}
def f32(x): return [float('%.8g'%v) for v in np.asarray(x,np.float32).ravel()] 
def nest(x): 
    x=np.asarray(x,np.float32)
    return f32(x) if x.ndim==1 else [f32(r) for r in x]
out={}
for rule,(slots,dense,sparse,variants) in rules.items():
  out[rule]={}
  for form,ports in (('dense',dense),('sparse',sparse)):
    if not ports: continue
    L=[]
    for attrs in variants+([{'_power':-.25}] if rule.startswith('Ftrl') and form=='dense' else []):
      attrs=dict(attrs); power=attrs.pop('_power',None)
      with tf.Graph().as_default(), tf.Session() as s:
        shape=[3] if form=='dense' else [3,2]
        var=np.array([1.5,-2,.25] if form=='dense' else [[1.5,-2],[.25,3],[-.5,.75]],np.float32)
        slotv={k:(np.abs(var)*slotvals[k]+.01*slotvals[k]).astype(np.float32) for k in slots}
        slotv={k:np.array(nest(np.round(v,3)),np.float32) for k,v in slotv.items()}
        V=tf.Variable(var); S={k:tf.Variable(v) for k,v in slotv.items()}
        g=np.array([.5,-1,.125] if form=='dense' else [[.5,-1],[.25,2],[-.75,.5]],np.float32)
        given={'var':nest(var)}; given.update({k:nest(v) for k,v in slotv.items()})
        args=dict(var=V.handle); args.update({k:v.handle for k,v in S.items()})
        for p in ports.split():
          if p in('grad','delta'): given[p]=nest(g); args[p]=g
          elif p=='indices': given[p]=[2,0,2]; args[p]=np.array([2,0,2],np.int32)
          elif p=='global_step': given[p]=3; args[p]=np.int64(3)
          else:
            h=power if (p=='lr_power' and power) else hyper[p]
            given[p]=h; args[p]=np.float32(h)
        name=fn[('resource'+('sparse' if form=='sparse' else '')+'apply'+rule).lower()]
        op=getattr(gt,name)(**args,**attrs)
        s.run(tf.global_variables_initializer()); s.run(op)
        after={'var':nest(s.run(V))}; after.update({k:nest(s.run(v)) for k,v in S.items()})
        L.append((given,attrs,after))
    out[rule][form]=L

def num(v): 
    t=repr(float(v)); 
    return t[:-2] if t.endswith('.0') else t
def text(d):
    def val(v):
        if not isinstance(v,list): return num(v)
        if isinstance(v[0],list): return '/'.join(','.join(num(x) for x in r) for r in v)
        return ','.join(num(x) for x in v)+(',' if len(v)==1 else '')
    return ' '.join(f"{k}={val(v)}" for k,v in d.items())
lines=[]
for rule,forms in out.items():
    lines.append(f"  {rule}: {{")
    for form,L in forms.items():
        lines.append(f"    {form}: [")
        for given,attrs,after in L:
            a=', { '+', '.join(f"{k}: {str(v).lower()}" for k,v in attrs.items())+' }' if attrs else ''
            lines.append(f"      example('{text(given)}', '{text(after)}'{a}),")
        lines.append("    ],")
    lines.append("  },")
path = os.path.join(os.path.dirname(__file__), "..", "..", "src", "ops", "state", "applyCases.ts")
with open(path) as f:
    text_before = f.read()
mark = "export const applyCases"
start = text_before.index("{\n", text_before.index("> = {", text_before.index(mark))) + 2
with open(path, "w") as f:
    f.write(text_before[:start] + "\n".join(lines) + "\n};\n")
