package aggregation

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	clientset "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions/apiregistration/v1"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
)

const (
	// workers is the number of APIServices that are written concurrently. Concurrent writes share a disk
	// sync.
	workers = 16
	// syncInterval is how often Run checks whether all APIServices exist.
	syncInterval = 10 * time.Millisecond
)

// Registrar creates and deletes the APIServices of local groups.
type Registrar struct {
	services listers.APIServiceLister
	synced   cache.InformerSynced
	register autoregister.AutoAPIServiceRegistration
	run      func(workers int, stop <-chan struct{})
	local    []*apiregistrationv1.APIService
	custom   *crdRegistrationController
}

// NewRegistrar returns a Registrar for the built-in versions, in order of preference, and for the
// groups of the CustomResourceDefinitions of the informer.
func NewRegistrar(config *rest.Config, services informers.APIServiceInformer, definitions cache.SharedIndexInformer, versions []schema.GroupVersion) (*Registrar, error) {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := autoregister.NewAutoRegisterController(services, client)
	r := &Registrar{services: services.Lister(), synced: services.Informer().HasSynced, register: controller, run: controller.Run, local: localServices(versions)}
	r.custom, err = newCRDRegistrationController(controller, definitions, versions)
	return r, err
}

// Run creates the missing APIServices and returns when all built-in ones exist. It continues in
// the background until ctx is done.
func (r *Registrar) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), r.synced) {
		return fmt.Errorf("waiting for APIServices: %w", context.Cause(ctx))
	}
	for _, service := range r.local {
		existing, err := r.services.Get(service.Name)
		if err == nil && existing.Spec.Service != nil {
			continue // an aggregated API server replaces the built-in group, e.g. metrics-server
		}
		r.register.AddAPIServiceToSyncOnStart(service)
	}
	go r.custom.run(ctx, func() { go r.run(workers, ctx.Done()) })
	return wait.PollUntilContextCancel(ctx, syncInterval, true, func(context.Context) (bool, error) { return r.Registered(), nil })
}

// Registered reports whether the APIServices of all built-in versions exist.
func (r *Registrar) Registered() bool {
	for _, service := range r.local {
		if _, err := r.services.Get(service.Name); err != nil {
			return false
		}
	}
	return true
}

// localServices returns the APIServices of the built-in versions. The first group has the highest
// priority, which decides the order in discovery.
func localServices(versions []schema.GroupVersion) []*apiregistrationv1.APIService {
	const highest, step = 17900, 50
	var services []*apiregistrationv1.APIService
	groups := map[string]int32{"": 18000}
	for _, version := range versions {
		priority, ok := groups[version.Group]
		if !ok {
			priority = int32(highest - step*len(groups))
			groups[version.Group] = priority
		}
		services = append(services, newService(version, priority, 15))
	}
	return services
}

// newService returns the APIService of a version that this process serves.
func newService(version schema.GroupVersion, groupPriority, versionPriority int32) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version.Version + "." + version.Group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: version.Group, Version: version.Version,
			GroupPriorityMinimum: groupPriority, VersionPriority: versionPriority,
		},
	}
}
