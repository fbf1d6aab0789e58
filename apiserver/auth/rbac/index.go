package rbac

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"
)

// bySubject is an index of bindings by whom they name: a request then looks at
// the bindings of its user, not at all of them.
const bySubject = "berth/subject"

// indexBySubject adds the index to an informer of bindings that lacks it.
func indexBySubject(informer cache.SharedIndexInformer) error {
	if _, exists := informer.GetIndexer().GetIndexers()[bySubject]; exists {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{bySubject: subjectKeys})
}

// subjectKeys are a binding's keys, each with the binding's namespace first.
func subjectKeys(obj any) ([]string, error) {
	var namespace string
	var subjects []rbacv1.Subject
	switch b := obj.(type) {
	case *rbacv1.RoleBinding:
		namespace, subjects = b.Namespace, b.Subjects
	case *rbacv1.ClusterRoleBinding:
		subjects = b.Subjects
	default:
		return nil, fmt.Errorf("want a binding, got %T", obj)
	}
	var keys []string
	for i := range subjects {
		s := &subjects[i]
		switch s.Kind {
		case rbacv1.UserKind:
			keys = append(keys, userKey(namespace, s.Name))
		case rbacv1.GroupKind:
			keys = append(keys, groupKey(namespace, s.Name))
		case rbacv1.ServiceAccountKind:
			accountNamespace := s.Namespace
			if accountNamespace == "" {
				accountNamespace = namespace
			}
			keys = append(keys, userKey(namespace, serviceaccount.MakeUsername(accountNamespace, s.Name)))
		}
	}
	return keys, nil
}

func userKey(namespace, name string) string  { return namespace + "/user/" + name }
func groupKey(namespace, name string) string { return namespace + "/group/" + name }

// bindingsOf are the bindings of u in namespace ("" for cluster bindings), each once.
func bindingsOf[T comparable](index cache.Indexer, namespace string, u user.Info) ([]T, error) {
	var out []T
	add := func(key string) error {
		found, err := index.ByIndex(bySubject, key)
		for _, obj := range found {
			if b, ok := obj.(T); ok && !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
		return err
	}
	if err := add(userKey(namespace, u.GetName())); err != nil {
		return nil, err
	}
	for _, g := range u.GetGroups() {
		if err := add(groupKey(namespace, g)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
