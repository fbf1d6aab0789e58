// Package customresources serves CustomResourceDefinitions and custom resources with
// k8s.io/apiextensions-apiserver. Its server is a delegate: it gets the requests for paths that
// the server of the built-in kinds does not serve.
//
//	CustomResourceDefinition stored -> names accepted -> established -> served, in discovery and OpenAPI
//
// The first request for a custom resource creates its storage (schemas, watch cache). The first request for its OpenAPI
// v3 document builds the document. Custom resources share etcd, authorization and admission with the built-in kinds.
// Deleting a definition deletes its objects first: the finalizer of the definition waits for them.
package customresources
