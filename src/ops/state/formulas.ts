/** @file The update rules of the optimizers, one row each: which slots, which inputs in which order, and the formula. */
import { type AttrSpec, attr } from '../../op/attrs.ts';
import {
  abs,
  add,
  cast,
  div,
  type Expr,
  eq,
  exp,
  max,
  min,
  mul,
  neg,
  pow,
  rsqrt,
  select,
  sign,
  sqrt,
  square,
  sub,
} from '../../program/map.ts';

/** Elements by port name: the variable, its slots, the gradient and the hyperparameters. */
export type Elements = Readonly<Record<string, Expr>>;
export type Flags = Readonly<Record<string, unknown>>;

export interface UpdateRule {
  /** The op is `Apply<name>`, with `Resource` before it for handles and `Sparse` for rows only. */
  readonly name: string;
  /** Variables changed besides `var`, in port order. */
  readonly slots: readonly string[];
  /** The other ports of the dense op in order; `grad` (or `delta`) is the gradient. */
  readonly dense?: string;
  /** The other ports of the sparse op in order, among them `indices`. */
  readonly sparse?: string;
  readonly attrs?: Readonly<Record<string, AttrSpec<'bool'>>>;
  /** False when only the resource form exists. */
  readonly reference?: false;
  /** New elements of `var` and of every slot. */
  update(x: Elements, flags: Flags): Readonly<Record<string, Expr>>;
}

const nesterov = { use_nesterov: attr('bool', { default: false }) };
const updateSlots = { update_slots: attr('bool', { default: true }) };
const linearByRate = { multiply_linear_by_lr: attr('bool', { default: false }) };

/** Moves `from` towards `to` by a fraction. */
const towards = (from: Expr, to: Expr, fraction: Expr) => add(from, mul(sub(to, from), fraction));

/** Adam's moments and its bias-corrected rate. */
function moments({ m, v, grad, beta1, beta2, beta1_power, beta2_power, lr }: Elements) {
  return {
    m: towards(m!, grad!, sub(1, beta1!)),
    v: towards(v!, square(grad!), sub(1, beta2!)),
    rate: div(mul(lr!, sqrt(sub(1, beta2_power!))), sub(1, beta1_power!)),
  };
}

/** The proximal step: shrinks towards zero by `rate * l1`, then scales by `1 / (1 + rate * l2)`. */
function proximal(x: Expr, rate: Expr, l1: Expr, l2: Expr): Expr {
  return div(mul(sign(x), max(sub(abs(x), mul(rate, l1)), 0)), add(mul(l2, rate), 1));
}

/** Whether the gradient points where its running mean points: 1, 0 or -1; and that mean. */
function agreement({ m, grad, beta }: Elements) {
  const mean = add(mul(m!, beta!), mul(grad!, sub(1, beta!)));
  return { mean, sign: mul(sign(grad!), sign(mean)) };
}

function ftrl({ var: x, accum, linear, lr, l1, l2, lr_power }: Elements, flags: Flags, grad: Expr, pull: Expr) {
  const byRate = flags['multiply_linear_by_lr'] === true;
  const total = add(accum!, square(grad));
  // The exponent is -0.5 nearly always; a square root is exact where pow is not.
  const power = (n: Expr) => select(eq(lr_power!, -0.5), sqrt(n), pow(n, neg(lr_power!)));
  const growth = sub(power(total), power(accum!));
  const moved = byRate
    ? add(linear!, sub(mul(pull, lr!), mul(growth, x!)))
    : add(linear!, sub(pull, mul(div(growth, lr!), x!)));
  const bound = byRate ? mul(l1!, lr!) : l1!;
  const clipped = max(min(moved, bound), neg(bound));
  const scale = byRate ? add(power(total), mul(mul(l2!, lr!), 2)) : add(div(power(total), lr!), mul(l2!, 2));
  return { var: div(sub(clipped, moved), scale), accum: total, linear: moved };
}

export const updateRules: readonly UpdateRule[] = [
  {
    name: 'GradientDescent',
    slots: [],
    dense: 'alpha delta',
    update: ({ var: x, alpha, delta }) => ({ var: sub(x!, mul(delta!, alpha!)) }),
  },
  {
    name: 'ProximalGradientDescent',
    slots: [],
    dense: 'alpha l1 l2 delta',
    sparse: 'alpha l1 l2 grad indices',
    update: ({ var: x, alpha, l1, l2, delta, grad }) => ({
      var: proximal(sub(x!, mul((delta ?? grad)!, alpha!)), alpha!, l1!, l2!),
    }),
  },
  {
    name: 'Momentum',
    slots: ['accum'],
    dense: 'lr grad momentum',
    sparse: 'lr grad indices momentum',
    attrs: nesterov,
    update: ({ var: x, accum, lr, grad, momentum }, { use_nesterov }) => {
      const speed = add(mul(accum!, momentum!), grad!);
      const step = use_nesterov ? add(mul(grad!, lr!), mul(mul(speed, momentum!), lr!)) : mul(speed, lr!);
      return { var: sub(x!, step), accum: speed };
    },
  },
  {
    name: 'KerasMomentum',
    slots: ['accum'],
    dense: 'lr grad momentum',
    sparse: 'lr grad indices momentum',
    attrs: nesterov,
    reference: false,
    update: ({ var: x, accum, lr, grad, momentum }, { use_nesterov }) => {
      const speed = sub(mul(accum!, momentum!), mul(grad!, lr!));
      return { var: add(x!, use_nesterov ? sub(mul(speed, momentum!), mul(grad!, lr!)) : speed), accum: speed };
    },
  },
  {
    name: 'Adam',
    slots: ['m', 'v'],
    dense: 'beta1_power beta2_power lr beta1 beta2 epsilon grad',
    attrs: nesterov,
    update: (x, { use_nesterov }) => {
      const { m, v, rate } = moments(x);
      const ahead = use_nesterov ? add(mul(x['grad']!, sub(1, x['beta1']!)), mul(m, x['beta1']!)) : m;
      return { var: sub(x['var']!, div(mul(ahead, rate), add(sqrt(v), x['epsilon']!))), m, v };
    },
  },
  {
    name: 'AdamWithAmsgrad',
    slots: ['m', 'v', 'vhat'],
    dense: 'beta1_power beta2_power lr beta1 beta2 epsilon grad',
    reference: false,
    update: (x) => {
      const { m, v, rate } = moments(x);
      const vhat = max(x['vhat']!, v);
      return { var: sub(x['var']!, div(mul(m, rate), add(sqrt(vhat), x['epsilon']!))), m, v, vhat };
    },
  },
  {
    name: 'AdaMax',
    slots: ['m', 'v'],
    dense: 'beta1_power lr beta1 beta2 epsilon grad',
    update: ({ var: x, m, v, beta1_power, lr, beta1, beta2, epsilon, grad }) => {
      const mean = towards(m!, grad!, sub(1, beta1!));
      const norm = max(mul(v!, beta2!), abs(grad!));
      const rate = div(lr!, sub(1, beta1_power!));
      return { var: sub(x!, mul(div(mean, add(norm, epsilon!)), rate)), m: mean, v: norm };
    },
  },
  {
    name: 'Adagrad',
    slots: ['accum'],
    dense: 'lr grad',
    sparse: 'lr grad indices',
    attrs: updateSlots,
    update: ({ var: x, accum, lr, grad }, { update_slots }) => {
      const total = update_slots ? add(accum!, square(grad!)) : accum!;
      return { var: sub(x!, mul(mul(grad!, lr!), rsqrt(total))), accum: total };
    },
  },
  {
    name: 'AdagradV2',
    slots: ['accum'],
    dense: 'lr epsilon grad',
    sparse: 'lr epsilon grad indices',
    attrs: updateSlots,
    update: ({ var: x, accum, lr, epsilon, grad }, { update_slots }) => {
      const total = update_slots ? add(accum!, square(grad!)) : accum!;
      const step = div(mul(grad!, lr!), add(sqrt(total), epsilon!));
      return { var: sub(x!, step), accum: total };
    },
  },
  {
    name: 'AdagradDA',
    slots: ['gradient_accumulator', 'gradient_squared_accumulator'],
    dense: 'grad lr l1 l2 global_step',
    sparse: 'grad indices lr l1 l2 global_step',
    update: (x) => {
      const { grad, lr, l1, l2, global_step } = x as Record<'grad' | 'lr' | 'l1' | 'l2' | 'global_step', Expr>; // named above
      const steps = cast(global_step, grad.dtype);
      const sum = add(x['gradient_accumulator']!, grad);
      const squares = add(x['gradient_squared_accumulator']!, square(grad));
      const shrunk = mul(sign(sum), max(sub(abs(sum), mul(l1, steps)), 0));
      const scale = add(mul(mul(l2, steps), lr), sqrt(squares));
      return {
        var: div(mul(neg(lr), shrunk), scale),
        gradient_accumulator: sum,
        gradient_squared_accumulator: squares,
      };
    },
  },
  {
    name: 'Adadelta',
    slots: ['accum', 'accum_update'],
    dense: 'lr rho epsilon grad',
    sparse: 'lr rho epsilon grad indices',
    update: ({ var: x, accum, accum_update, lr, rho, epsilon, grad }) => {
      const squares = add(mul(accum!, rho!), mul(square(grad!), sub(1, rho!)));
      const step = mul(mul(sqrt(add(accum_update!, epsilon!)), rsqrt(add(squares, epsilon!))), grad!);
      const steps = add(mul(accum_update!, rho!), mul(square(step), sub(1, rho!)));
      return { var: sub(x!, mul(step, lr!)), accum: squares, accum_update: steps };
    },
  },
  {
    name: 'RMSProp',
    slots: ['ms', 'mom'],
    dense: 'lr rho momentum epsilon grad',
    sparse: 'lr rho momentum epsilon grad indices',
    update: ({ var: x, ms, mom, lr, rho, momentum, epsilon, grad }) => {
      const squares = towards(ms!, square(grad!), sub(1, rho!));
      const speed = add(mul(mom!, momentum!), div(mul(grad!, lr!), sqrt(add(squares, epsilon!))));
      return { var: sub(x!, speed), ms: squares, mom: speed };
    },
  },
  {
    name: 'CenteredRMSProp',
    slots: ['mg', 'ms', 'mom'],
    dense: 'lr rho momentum epsilon grad',
    sparse: 'lr rho momentum epsilon grad indices',
    update: ({ var: x, mg, ms, mom, lr, rho, momentum, epsilon, grad }) => {
      const squares = towards(ms!, square(grad!), sub(1, rho!));
      const mean = towards(mg!, grad!, sub(1, rho!));
      const variance = add(sub(squares, square(mean)), epsilon!);
      const speed = add(mul(mom!, momentum!), div(mul(grad!, lr!), sqrt(variance)));
      return { var: sub(x!, speed), mg: mean, ms: squares, mom: speed };
    },
  },
  {
    name: 'Ftrl',
    slots: ['accum', 'linear'],
    dense: 'grad lr l1 l2 lr_power',
    sparse: 'grad indices lr l1 l2 lr_power',
    attrs: linearByRate,
    update: (x, flags) => ftrl(x, flags, x['grad']!, x['grad']!),
  },
  {
    name: 'FtrlV2',
    slots: ['accum', 'linear'],
    dense: 'grad lr l1 l2 l2_shrinkage lr_power',
    sparse: 'grad indices lr l1 l2 l2_shrinkage lr_power',
    attrs: linearByRate,
    update: (x, flags) => ftrl(x, flags, x['grad']!, add(x['grad']!, mul(mul(x['var']!, x['l2_shrinkage']!), 2))),
  },
  {
    name: 'ProximalAdagrad',
    slots: ['accum'],
    dense: 'lr l1 l2 grad',
    sparse: 'lr l1 l2 grad indices',
    update: ({ var: x, accum, lr, l1, l2, grad }) => {
      const total = add(accum!, square(grad!));
      const rate = mul(lr!, rsqrt(total));
      return { var: proximal(sub(x!, mul(grad!, rate)), rate, l1!, l2!), accum: total };
    },
  },
  {
    name: 'AddSign',
    slots: ['m'],
    dense: 'lr alpha sign_decay beta grad',
    update: (x) => {
      const { mean, sign: agree } = agreement(x);
      const scale = add(mul(agree, x['sign_decay']!), x['alpha']!);
      return { var: sub(x['var']!, mul(mul(scale, x['lr']!), x['grad']!)), m: mean };
    },
  },
  {
    name: 'PowerSign',
    slots: ['m'],
    dense: 'lr logbase sign_decay beta grad',
    update: (x) => {
      const { mean, sign: agree } = agreement(x);
      const scale = exp(mul(mul(agree, x['sign_decay']!), x['logbase']!));
      return { var: sub(x['var']!, mul(mul(scale, x['lr']!), x['grad']!)), m: mean };
    },
  },
];
