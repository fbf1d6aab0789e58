// Package admission has the built-in admission plugins. Each plugin has the name that it has in
// kube-apiserver, by which --disable-admission-plugins disables it:
//
//	LimitRanger                   default requests and limits, minima and maxima of a namespace
//	ServiceAccount                default service account, and the volume with its token
//	TaintNodesByCondition         not-ready taint of new nodes
//	PodSecurity                   Pod Security Standards by labels of the namespace
//	Priority                      priority of pods by class; a single default class
//	DefaultTolerationSeconds      tolerations for not-ready and unreachable nodes
//	DefaultStorageClass           storage class of claims without a class
//	StorageObjectInUseProtection  finalizers of volumes and claims in use
//	PersistentVolumeClaimResize   expansion of claims only if their class allows it
//	RuntimeClass                  overhead and scheduling constraints of a runtime class
//	DefaultIngressClass           class of Ingresses without a class
//	PodTopologyLabels             zone and region labels of bound pods
//	CertificateApproval           permission to approve the requests of a signer
//	CertificateSigning            permission to issue the certificates of a signer
//	CertificateSubjectRestriction no client certificates of group system:masters
//	ResourceQuota                 resource usage of a namespace (wraps the plugin of k8s.io/apiserver)
//
// Plugins read other objects from informer caches. They read the store instead until a cache has synced, shortly
// after a relevant write through this server, and if the cache lacks the object.
//
// Differences from kube-apiserver: its plugins may not find an object that was just created. Its storage of priority
// classes, not the plugin Priority, rejects the deletion of system classes.
package admission
