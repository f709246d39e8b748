/** @file Lets code that builds graphs make sessions. */
import { type GraphSession, setSessionFactory } from '../graph/sessions.ts';
import { Session } from './session.ts';

setSessionFactory(
  ({ target, graph, config }): GraphSession =>
    new Session({ graph, ...(target !== '' && { target }), ...(config && { config }) }),
);
