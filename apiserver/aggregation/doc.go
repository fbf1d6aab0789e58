// Package aggregation is the first server of the chain, built on k8s.io/kube-aggregator. It serves
// APIServices, forwards requests for their groups to other API servers, and merges discovery and
// OpenAPI of all servers.
//
//	request -> APIService with a Service -> proxy to an endpoint of the Service
//	        -> any other path            -> built-in kinds -> custom resources
//
// Registrar creates an APIService for each group and version that this process serves. It creates
// those of built-in kinds at startup, and keeps those of custom resources while their definitions
// exist.
package aggregation
