/** Components of plugins in three languages through all operations, in programs of `@pulumi/pulumi`. */
import { operations } from "./component_operations.mjs";

operations("sdk");
