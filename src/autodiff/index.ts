/** @file Public functions of automatic differentiation. */
import './functionDerivative.ts';

export { AggregationMethod } from './aggregate.ts';
export { customGradient, type WithGradient } from './customGradient.ts';
export { type GradientSource, type GradientsOptions, gradients, UnconnectedGradients } from './gradients.ts';
export {
  type GradientFunction,
  type GradientResult,
  notDifferentiable,
  notDifferentiable as NoGradient,
  notDifferentiable as noGradient,
  notDifferentiable as NotDifferentiable,
  registerGradient,
  registerGradient as RegisterGradient,
} from './registry.ts';
