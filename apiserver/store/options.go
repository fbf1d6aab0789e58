package store

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/tools/cache"
)

// prefix starts all keys, as in kube-apiserver.
const prefix = "/registry"

// Options returns the storage options of each resource. It implements generic.RESTOptionsGetter.
type Options struct {
	Backend *Backend
	Scheme  *runtime.Scheme
	Codecs  serializer.CodecFactory
	// Transformers encrypt and decrypt stored objects. nil means no encryption.
	Transformers value.ResourceTransformers
	// Uncached resources have no watch cache.
	Uncached sets.Set[schema.GroupResource]
	// GroupPrefix stores objects below GROUP/RESOURCE instead of RESOURCE, as kube-apiserver does
	// for CustomResourceDefinitions and APIServices.
	GroupPrefix bool
	// Counter tracks the number of objects of each resource.
	Counter flowcontrolrequest.StorageObjectCountTracker
}

var _ generic.RESTOptionsGetter = Options{}

// mediaType returns protobuf, or JSON for types without protobuf such as those of Berth. example may
// be of an internal type.
func (o Options) mediaType(example runtime.Object, version schema.GroupVersion) string {
	if kinds, _, err := o.Scheme.ObjectKinds(example); err == nil && len(kinds) > 0 {
		if stored, err := o.Scheme.New(version.WithKind(kinds[0].Kind)); err == nil {
			example = stored
		}
	}
	if _, ok := example.(interface{ Marshal() ([]byte, error) }); ok {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o Options) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	versions := o.Scheme.PrioritizedVersionsForGroup(resource.Group)
	if len(versions) == 0 {
		return generic.RESTOptions{}, fmt.Errorf("no version of group %q is registered", resource.Group)
	}
	cfg := storagebackend.NewDefaultConfig(prefix, nil)
	codec, versioner, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  o.mediaType(example, versions[0]),
		StorageSerializer: o.Codecs,
		StorageVersion:    versions[0],
		MemoryVersion:     schema.GroupVersion{Group: resource.Group, Version: runtime.APIVersionInternal},
		Config:            *cfg,
	})
	if err != nil {
		return generic.RESTOptions{}, err
	}
	cfg.Codec, cfg.EncodeVersioner = untypedCodec{codec}, versioner
	path := resourcePrefix(resource)
	if o.GroupPrefix {
		path = resource.Group + "/" + resource.Resource
	}
	return o.restOptions(cfg, resource, path), nil
}

// restOptions completes cfg with the settings that all resources share and returns the options of a resource.
func (o Options) restOptions(cfg *storagebackend.Config, resource schema.GroupResource, path string) generic.RESTOptions {
	cfg.StorageObjectCountTracker = o.Counter
	return generic.RESTOptions{
		StorageConfig:             cfg.ForResource(resource),
		Decorator:                 o.decorate,
		EnableGarbageCollection:   true,
		DeleteCollectionWorkers:   4,
		ResourcePrefix:            path,
		CountMetricPollPeriod:     time.Minute,
		StorageObjectCountTracker: o.Counter,
	}
}

// resourcePrefix returns the key prefix of a resource, as in kube-apiserver. It appears in messages
// about failed preconditions.
func resourcePrefix(resource schema.GroupResource) string {
	if special, ok := specialPrefixes[resource]; ok {
		return special
	}
	return resource.Resource
}

var specialPrefixes = map[schema.GroupResource]string{
	{Resource: "nodes"}:                  "minions",
	{Resource: "services"}:               "services/specs",
	{Resource: "endpoints"}:              "services/endpoints",
	{Resource: "replicationcontrollers"}: "controllers",
}

// decorate creates the storage of one resource: etcd, behind a watch cache unless the resource is in Uncached.
func (o Options) decorate(c *storagebackend.ConfigForResource, resourcePrefix string,
	keyFunc func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
	attrs storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	versioner := storage.APIObjectVersioner{}
	client, closeWatches := o.Backend.newResourceClient()
	raw, err := etcd3.New(client, o.Backend.compactor, c.Codec, newFunc, newListFunc, c.Prefix, resourcePrefix,
		c.GroupResource, o.transformer(c.GroupResource), c.LeaseManagerConfig,
		etcd3.NewDefaultDecoder(c.Codec, versioner), versioner)
	if err != nil {
		closeWatches()
		return nil, nil, err
	}
	closeRaw := func() {
		raw.Close()
		closeWatches()
	}
	if o.Uncached.Has(c.GroupResource) {
		return raw, sync.OnceFunc(closeRaw), nil
	}
	cached, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage:             raw,
		Versioner:           versioner,
		GroupResource:       c.GroupResource,
		EventsHistoryWindow: c.EventsHistoryWindow,
		ResourcePrefix:      resourcePrefix,
		KeyFunc:             keyFunc,
		NewFunc:             newFunc,
		NewListFunc:         newListFunc,
		GetAttrsFunc:        attrs,
		IndexerFuncs:        triggers,
		Indexers:            indexers,
		Codec:               c.Codec,
	})
	if err != nil {
		closeRaw()
		return nil, nil, err
	}
	delegator := cacher.NewCacheDelegator(cached, raw)
	return bufferedWatchStorage{delegator}, sync.OnceFunc(func() {
		delegator.Stop()
		cached.Stop()
		closeRaw()
	}), nil
}

func (o Options) transformer(resource schema.GroupResource) value.Transformer {
	if o.Transformers == nil {
		return identity.NewEncryptCheckTransformer()
	}
	return o.Transformers.TransformerForResource(resource)
}

// untypedCodec clears apiVersion and kind of decoded objects, as conversion to an internal type
// would. List items must not have them.
type untypedCodec struct{ runtime.Codec }

func (u untypedCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := u.Codec.Decode(data, defaults, into)
	if obj != nil {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, kind, err
}
