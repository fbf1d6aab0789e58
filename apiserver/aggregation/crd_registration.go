package aggregation

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
)

// Priorities of the groups of custom resources: after all built-in groups.
const (
	customGroupPriority   = 1000
	customVersionPriority = 100
)

// crdRegistrationController registers a version while a CustomResourceDefinition serves it.
type crdRegistrationController struct {
	register    autoregister.AutoAPIServiceRegistration
	definitions cache.SharedIndexInformer
	builtIn     []schema.GroupVersion
	queue       workqueue.TypedInterface[schema.GroupVersion]
}

func newCRDRegistrationController(register autoregister.AutoAPIServiceRegistration, definitions cache.SharedIndexInformer, builtIn []schema.GroupVersion) (*crdRegistrationController, error) {
	c := &crdRegistrationController{register: register, definitions: definitions, builtIn: builtIn, queue: workqueue.NewTyped[schema.GroupVersion]()}
	_, err := definitions.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.enqueue(obj) },
		UpdateFunc: func(old, obj any) { // an update may remove a version
			c.enqueue(old)
			c.enqueue(obj)
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			c.enqueue(obj)
		},
	})
	return c, err
}

func (c *crdRegistrationController) enqueue(obj any) {
	definition, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return
	}
	for i := range definition.Spec.Versions {
		c.queue.Add(schema.GroupVersion{Group: definition.Spec.Group, Version: definition.Spec.Versions[i].Name})
	}
}

// run registers versions until ctx is done. It calls registered after it has registered the versions
// of all existing definitions. If it were called earlier, the caller would delete APIServices that a previous process
// created.
func (c *crdRegistrationController) run(ctx context.Context, registered func()) {
	defer c.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), c.definitions.HasSynced) {
		return
	}
	for _, obj := range c.definitions.GetStore().List() {
		definition := obj.(*apiextensionsv1.CustomResourceDefinition)
		for i := range definition.Spec.Versions {
			c.sync(schema.GroupVersion{Group: definition.Spec.Group, Version: definition.Spec.Versions[i].Name})
		}
	}
	registered()
	context.AfterFunc(ctx, c.queue.ShutDown)
	for {
		version, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.sync(version)
		c.queue.Done(version)
	}
}

// sync registers the version if a definition serves it, and unregisters it otherwise. It ignores
// built-in versions.
func (c *crdRegistrationController) sync(version schema.GroupVersion) {
	if slices.Contains(c.builtIn, version) {
		return
	}
	service := newService(version, customGroupPriority, customVersionPriority)
	if c.isServed(version) {
		c.register.AddAPIServiceToSync(service)
		return
	}
	c.register.RemoveAPIServiceToSync(service.Name)
}

func (c *crdRegistrationController) isServed(version schema.GroupVersion) bool {
	for _, obj := range c.definitions.GetStore().List() {
		definition, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if !ok || definition.Spec.Group != version.Group {
			continue
		}
		for i := range definition.Spec.Versions {
			if v := &definition.Spec.Versions[i]; v.Name == version.Version && v.Served {
				return true
			}
		}
	}
	return false
}
