// Package quota computes the ResourceQuota usage of objects. The admission plugin of the API server and the quota
// controller share it.
//
//	pods                     requests and limits, including extended resources and huge pages; pod counts
//	services                 counts by type, node ports
//	persistentvolumeclaims   sizes and counts, in total and by storage class
//	all other resources      object counts, count/RESOURCE.GROUP
//
// The evaluators implement the interfaces of k8s.io/apiserver/pkg/quota/v1.
package quota
