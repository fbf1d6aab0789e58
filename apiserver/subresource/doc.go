// Package subresource contains the storages that need more than the generic one. They are bindings,
// evictions, scale, deletion of namespaces, and the allocation of cluster IPs and node ports.
//
// They write through the generic store, so preconditions, dry run and the watch cache apply.
package subresource
