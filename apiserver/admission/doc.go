// Package admission holds the plugins that fill in or refuse writes for reasons
// beyond the object itself: other objects, the namespace's limits, the cluster's defaults.
//
// It answers for the API server's handler chain. Each plugin has the name of its
// kube-apiserver counterpart, under which it can be disabled:
//
//	LimitRanger                   default requests and limits, minima and maxima of a namespace
//	ServiceAccount                an account for each pod, and a volume with its token
//	TaintNodesByCondition         a new node takes no pods until it is found ready
//	Priority                      class name to number; one default class; system classes stay
//	DefaultTolerationSeconds      pods stay 300 s on a node that is not ready or not reached
//	DefaultStorageClass           the class of claims that name none
//	StorageObjectInUseProtection  finalizers that keep volumes and claims in use
//	PersistentVolumeClaimResize   only claims whose class allows it may grow
//	RuntimeClass                  overhead and placement that a pod's runtime class brings
//	PodTopologyLabels             a bound pod carries its node's zone and region
//	ResourceQuota                 what a namespace may use in sum (the library's plugin, with our evaluators)
//
// A plugin that reads objects reads the informer's cache; but for a moment after
// such an object was written through this server in a way that matters to it, and until the cache is filled,
// it reads the store, so that what a client just wrote counts at once. What the cache has not is looked for in the store, too.
//
// Departures from kube-apiserver: that freshness (there, a class made a moment
// ago may not be found yet), and deleting a system class is refused here rather than in its storage.
package admission
