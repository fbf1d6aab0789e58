package restapi

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/pkg/version"
)

// document returns the discovery document of a path, or nil if there is none.
func (s *Server) document(path string) any {
	path = strings.Trim(path, "/")
	switch path {
	case "version":
		return version.Get()
	case "api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case "apis":
		return s.groups()
	}
	gv, err := schema.ParseGroupVersion(strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/"))
	if err != nil {
		return nil
	}
	return s.resources(gv)
}

// groups returns the API groups except the core group.
func (s *Server) groups() *metav1.APIGroupList {
	out := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, k := range s.kinds {
		name := k.GroupVersion.Group
		if name == "" || slices.ContainsFunc(out.Groups, func(g metav1.APIGroup) bool { return g.Name == name }) {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion.String(), Version: k.GroupVersion.Version}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return out
}

// resources returns the resources of a group version, or nil if there are none.
func (s *Server) resources(gv schema.GroupVersion) any {
	out := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String()}
	for _, k := range s.kinds {
		if k.GroupVersion != gv {
			continue
		}
		verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
		out.APIResources = append(out.APIResources, metav1.APIResource{Name: k.Resource, SingularName: strings.ToLower(k.Kind.Kind), Namespaced: k.Namespaced, Kind: k.Kind.Kind,
			ShortNames: k.ShortNames, Categories: k.Categories, Verbs: verbs})
		if k.HasStatus {
			out.APIResources = append(out.APIResources, metav1.APIResource{Name: k.Resource + "/status", Namespaced: k.Namespaced, Kind: k.Kind.Kind, Verbs: metav1.Verbs{"patch", "update"}})
		}
	}
	if len(out.APIResources) == 0 {
		return nil
	}
	return out
}
