/** Components of plugins in three languages through all operations, in programs of the own API. */
import { operations } from "./component_operations.mjs";

operations("own");
