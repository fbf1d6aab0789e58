// Package podstrategy prepares pods and pod templates for storage. It sets the initial status,
// restores what an update must not change, and clears the fields of disabled feature gates.
//
// Preparation never rejects an object.
package podstrategy
