package rbac

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
)

// Resolver returns the rules that apply to a user.
type Resolver struct {
	roles               rbaclisters.RoleLister
	clusterRoles        rbaclisters.ClusterRoleLister
	bindings            cache.Indexer
	clusterRoleBindings cache.Indexer
	synced              []cache.InformerSynced
}

// NewResolver returns a resolver that uses the informers of factory. Call it before they start.
func NewResolver(factory informers.SharedInformerFactory) (*Resolver, error) {
	v1 := factory.Rbac().V1()
	bindings, clusterRoleBindings := v1.RoleBindings().Informer(), v1.ClusterRoleBindings().Informer()
	for _, informer := range []cache.SharedIndexInformer{bindings, clusterRoleBindings} {
		if err := indexBySubject(informer); err != nil {
			return nil, fmt.Errorf("indexing bindings by subject: %w", err)
		}
	}
	return &Resolver{
		roles:               v1.Roles().Lister(),
		clusterRoles:        v1.ClusterRoles().Lister(),
		bindings:            bindings.GetIndexer(),
		clusterRoleBindings: clusterRoleBindings.GetIndexer(),
		synced: []cache.InformerSynced{
			v1.Roles().Informer().HasSynced, bindings.HasSynced,
			v1.ClusterRoles().Informer().HasSynced, clusterRoleBindings.HasSynced,
		},
	}, nil
}

// Synced reports whether the informers have synced. Until then, all users but system:masters may be
// rejected.
func (r *Resolver) Synced() bool {
	for _, synced := range r.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// grant is the origin of a rule.
type grant struct {
	namespace string // "" for a ClusterRoleBinding
	binding   string
	role      rbacv1.RoleRef
	subject   *rbacv1.Subject
}

// String formats the grant as upstream does in the reason of a decision.
func (g *grant) String() string {
	subject := fmt.Sprintf("%s %q", g.subject.Kind, g.subject.Name)
	if g.subject.Kind == rbacv1.ServiceAccountKind {
		subject = fmt.Sprintf("%s %q", g.subject.Kind, g.subject.Name+"/"+g.subject.Namespace)
	}
	if g.namespace == "" {
		return fmt.Sprintf("ClusterRoleBinding %q of %s %q to %s", g.binding, g.role.Kind, g.role.Name, subject)
	}
	return fmt.Sprintf("RoleBinding %q of %s %q to %s", g.binding+"/"+g.namespace, g.role.Kind, g.role.Name, subject)
}

// visit calls f with each rule of u in namespace until f returns false. "" selects cluster-wide
// rules only. If the role of a binding cannot be read, f gets the error.
func (r *Resolver) visit(u user.Info, namespace string, f func(from *grant, rule *rbacv1.PolicyRule, err error) bool) {
	clusterBindings, err := bindingsOf[*rbacv1.ClusterRoleBinding](r.clusterRoleBindings, "", u)
	if err != nil && !f(nil, nil, err) {
		return
	}
	for _, b := range clusterBindings {
		if !r.visitBinding(grant{binding: b.Name, role: b.RoleRef}, b.Subjects, u, f) {
			return
		}
	}
	if namespace == "" {
		return
	}
	bindings, err := bindingsOf[*rbacv1.RoleBinding](r.bindings, namespace, u)
	if err != nil && !f(nil, nil, err) {
		return
	}
	for _, b := range bindings {
		if !r.visitBinding(grant{namespace: namespace, binding: b.Name, role: b.RoleRef}, b.Subjects, u, f) {
			return
		}
	}
}

func (r *Resolver) visitBinding(g grant, subjects []rbacv1.Subject, u user.Info, f func(*grant, *rbacv1.PolicyRule, error) bool) bool {
	for i := range subjects {
		if !subjectMatches(&subjects[i], u, g.namespace) {
			continue
		}
		rules, err := r.roleReferenceRules(g.role, g.namespace)
		if err != nil {
			return f(nil, nil, err)
		}
		g.subject = &subjects[i]
		for j := range rules {
			if !f(&g, &rules[j], nil) {
				return false
			}
		}
		return true // one matching subject grants the whole role
	}
	return true
}

// roleReferenceRules returns the rules of the role that a binding in namespace refers to.
func (r *Resolver) roleReferenceRules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "Role":
		role, err := r.roles.Roles(namespace).Get(ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	case "ClusterRole":
		role, err := r.clusterRoles.Get(ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// Rules returns all rules of u in namespace. With an error, it returns the rules that could be
// read.
func (r *Resolver) Rules(_ context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	var errs []error
	r.visit(u, namespace, func(_ *grant, rule *rbacv1.PolicyRule, err error) bool {
		if err != nil {
			errs = append(errs, err)
		} else {
			rules = append(rules, *rule)
		}
		return true
	})
	return rules, utilerrors.NewAggregate(errs)
}
