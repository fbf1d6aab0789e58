// Package subresource holds the parts of kinds that are not plain reads and
// writes of the object: binding a pod, scaling a workload, deleting a namespace
// in two steps, giving services their addresses.
//
// Each is a function of the generic store, so that the table of kinds can name
// it in a row. They write through the store's transaction (never around
// it), so preconditions, dry run and the watch cache hold for them too.
package subresource
