/** @file Loads the ops of readers. */
import './readerOps.ts';
import './recordInput.ts';
