/** @file The cart-pole task: a cart is pushed left or right so that the pole on it does not fall. The equations are Barto, Sutton and Anderson's (1983). */

export const actions = 2;
export const observations = 4;
/** An episode that lasts so long is solved. */
export const longest = 200;

const gravity = 9.8;
const cartMass = 1;
const poleMass = 0.1;
const totalMass = cartMass + poleMass;
const halfLength = 0.5;
const push = 10;
const seconds = 0.02;
const widestAngle = (12 * Math.PI) / 180;
const trackEnd = 2.4;

/** Numbers from 0 to 1 that are the same at every start. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class CartPole {
  private position = 0;
  private speed = 0;
  private angle = 0;
  private turning = 0;
  private steps = 0;
  constructor(private readonly random: () => number) {}

  /** Begins an episode near the upright position. */
  reset(): number[] {
    const small = () => (this.random() - 0.5) * 0.1;
    [this.position, this.speed, this.angle, this.turning] = [small(), small(), small(), small()];
    this.steps = 0;
    return this.observation();
  }

  /** Pushes left (0) or right (1) for a fiftieth of a second. */
  step(action: number): { observation: number[]; reward: number; fell: boolean; done: boolean } {
    const force = action === 1 ? push : -push;
    const [sin, cos] = [Math.sin(this.angle), Math.cos(this.angle)];
    const pushed = (force + poleMass * halfLength * this.turning ** 2 * sin) / totalMass;
    const turn = (gravity * sin - cos * pushed) / (halfLength * (4 / 3 - (poleMass * cos ** 2) / totalMass));
    const acceleration = pushed - (poleMass * halfLength * turn * cos) / totalMass;
    this.position += seconds * this.speed;
    this.speed += seconds * acceleration;
    this.angle += seconds * this.turning;
    this.turning += seconds * turn;
    this.steps++;
    const fell = Math.abs(this.position) > trackEnd || Math.abs(this.angle) > widestAngle;
    return { observation: this.observation(), reward: 1, fell, done: fell || this.steps >= longest };
  }

  private observation(): number[] {
    return [this.position, this.speed, this.angle, this.turning];
  }
}
