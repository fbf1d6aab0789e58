package apiserver

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/registry"
	"github.com/berthproject/berth/apiserver/scheme"
)

// storageSet holds all storages by version and path ("pods", "pods/status").
type storageSet struct {
	versions []schema.GroupVersion // in order of first appearance
	byPath   map[schema.GroupVersion]map[string]rest.Storage
	stores   map[schema.GroupResource]*registry.REST // by resource; of several versions, the store of the stored one
}

// newStorages creates the storage of every kind. virtualStorage returns the storages of virtual
// kinds and of subresources that need more than a store ("serviceaccounts/token").
func newStorages(table []kinds.Kind, c registry.Config, virtualStorage func(*storageSet) map[schema.GroupVersion]map[string]rest.Storage) (*storageSet, error) {
	s := &storageSet{
		byPath: map[schema.GroupVersion]map[string]rest.Storage{},
		stores: map[schema.GroupResource]*registry.REST{},
	}
	for _, k := range table {
		s.versionStorage(k.GroupVersion)
		if k.Virtual || k.Hub != nil {
			continue
		}
		r, err := registry.New(k, c)
		if err != nil {
			return nil, err
		}
		s.stores[k.GroupResource()] = r
	}
	for _, k := range table {
		if k.Virtual {
			continue
		}
		r := s.stores[k.GroupResource()]
		if k.Hub != nil {
			r = registry.NewShared(k, s.stores[k.Hub.Of], c)
		}
		if s.stores[k.GroupResource()] == nil {
			s.stores[k.GroupResource()] = r
		}
		s.add(k, r, c)
	}
	for gv, paths := range virtualStorage(s) {
		maps.Copy(s.versionStorage(gv), paths)
	}
	if err := s.checkComplete(table); err != nil {
		return nil, err
	}
	return s, nil
}

// versionStorage returns the storages of a version by path. The caller may add to them.
func (s *storageSet) versionStorage(gv schema.GroupVersion) map[string]rest.Storage {
	if s.byPath[gv] == nil {
		s.byPath[gv] = map[string]rest.Storage{}
		s.versions = append(s.versions, gv)
	}
	return s.byPath[gv]
}

// add adds the storages of a kind and its subresources.
func (s *storageSet) add(k kinds.Kind, r *registry.REST, c registry.Config) {
	paths := s.versionStorage(k.GroupVersion)
	paths[k.Resource] = r.Storage()
	for name, storage := range r.Subresources(c, s.store) {
		paths[k.Resource+"/"+name] = storage
	}
}

// store returns the store of a resource, or nil if there is none.
func (s *storageSet) store(resource schema.GroupResource) *genericregistry.Store {
	if r := s.stores[resource]; r != nil {
		return r.Store
	}
	return nil
}

// checkComplete returns an error if a kind of the table has no storage.
func (s *storageSet) checkComplete(table []kinds.Kind) error {
	for _, k := range table {
		if s.byPath[k.GroupVersion][k.Resource] == nil {
			return fmt.Errorf("%s in %s has no storage", k.Resource, k.GroupVersion)
		}
	}
	return nil
}

// install serves all storages under /api and /apis.
func (s *storageSet) install(server *genericapiserver.GenericAPIServer, set *scheme.Set) error {
	var groups []*genericapiserver.APIGroupInfo
	installed := sets.New[string]()
	for _, gv := range s.versions {
		if installed.Has(gv.Group) {
			continue
		}
		installed.Insert(gv.Group)
		info := genericapiserver.NewDefaultAPIGroupInfo(gv.Group, set.Scheme, set.ParameterCodec, set.Codecs)
		for _, v := range info.PrioritizedVersions {
			if paths := s.byPath[v]; paths != nil {
				info.VersionedResourcesStorageMap[v.Version] = paths
			}
		}
		// Versions that are only accepted in requests, such as policy/v1beta1, are not served.
		info.PrioritizedVersions = slices.DeleteFunc(info.PrioritizedVersions, func(v schema.GroupVersion) bool { return s.byPath[v] == nil })
		if gv.Group == "" {
			if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info); err != nil {
				return fmt.Errorf("serving the core group: %w", err)
			}
			continue
		}
		groups = append(groups, &info)
	}
	if err := server.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("serving the API groups: %w", err)
	}
	return nil
}
