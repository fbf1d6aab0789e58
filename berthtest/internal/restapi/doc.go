// Package restapi serves the simulator's in-memory API (sim/store) to client-go without a network: Server is an
// http.RoundTripper. It serves reads, watches, writes and patches of the kinds that the simulator acts on, with the
// defaults and the validation of package apiserver/kinds.
//
// A request is executed at once, at the current virtual time. There is no authentication, no authorization, no
// admission webhook, no CustomResourceDefinition and no server-side apply. A list has no pages.
package restapi
