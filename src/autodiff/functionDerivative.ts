/** @file The derivative of a function of a library, worked out where the function runs: graphs bring SymbolicGradient nodes. */
import { NotFoundError } from '../core/errors.ts';
import { fromFunctionDef, toFunctionDef } from '../graph/functionDef.ts';
import { Graph } from '../graph/graph.ts';
import { convertToTensor } from '../op/convert.ts';
import { derivativeName, type FunctionDerivative, setFunctionDerivative } from '../op/functionDerivative.ts';
import { gradients, UnconnectedGradients } from './gradients.ts';

const derive: FunctionDerivative = (library, func) => {
  const def = library.get(func.name);
  if (!def) throw new NotFoundError(`Function ${func.name}, whose derivative is wanted, is not in the library`);
  const outer = new Graph({ functions: new Map(library) });
  const body = fromFunctionDef(def, { outer, attr: func.attr });
  const [xs, ys] = [[...body.inputs], body.outputs];
  body.asDefault(() => {
    const gradYs = ys.map((y, i) => body.addArgument({ dtype: y.dtype, shape: y.shape, name: `gradient_${i}` }));
    const options = { gradYs, unconnectedGradients: UnconnectedGradients.ZERO };
    body.outputs = gradients(ys, xs, options).map((g) => convertToTensor(g!)); // zeros where nothing leads
  });
  body.name = derivativeName(func.name);
  const made = [...body.functions].filter(([name, own]) => library.get(name) !== own).map(([, own]) => own);
  return [toFunctionDef(body), ...made];
};

setFunctionDerivative(derive);
