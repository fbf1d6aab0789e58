package rbac

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"
)

// bySubject is the name of an index of bindings by subject. With it, a request reads only the
// bindings of its user.
const bySubject = "berth/subject"

// indexBySubject adds the index to an informer that lacks it.
func indexBySubject(informer cache.SharedIndexInformer) error {
	if _, ok := informer.GetIndexer().GetIndexers()[bySubject]; ok {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{bySubject: subjectKeys})
}

// subjectKeys returns the index keys of a binding, prefixed with its namespace.
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

// bindingsOf returns the distinct bindings of u in namespace. "" selects cluster role bindings.
func bindingsOf[T comparable](index cache.Indexer, namespace string, u user.Info) ([]T, error) {
	var out []T
	add := func(key string) error {
		objs, err := index.ByIndex(bySubject, key)
		for _, obj := range objs {
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
