// Package networking has defaulting and validation of the kinds of networking.k8s.io: Ingress,
// IngressClass, NetworkPolicy, ServiceCIDR and IPAddress.
package networking
