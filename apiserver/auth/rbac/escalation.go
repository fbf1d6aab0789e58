package rbac

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// EscalationPlugin is the name under which the escalation check is registered.
const EscalationPlugin = "RBACEscalation"

// Escalation is a validating admission plugin: nobody writes a role with
// rules, or a binding to a role, that he does not hold himself.
type Escalation struct {
	*admission.Handler
	resolver *Resolver
	initErr  error // why there is no resolver
	authz    authorizer.UnconditionalAuthorizer
}

var (
	_ admission.ValidationInterface                = &Escalation{}
	_ initializer.WantsExternalKubeInformerFactory = &Escalation{}
	_ initializer.WantsUnconditionalAuthorizer     = &Escalation{}
)

// NewEscalation returns the plugin; the server's initializers complete it.
func NewEscalation() *Escalation {
	return &Escalation{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// RegisterEscalation adds the plugin to those a server can turn on.
func RegisterEscalation(plugins *admission.Plugins) {
	plugins.Register(EscalationPlugin, func(io.Reader) (admission.Interface, error) { return NewEscalation(), nil })
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (e *Escalation) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	if e.resolver, e.initErr = NewResolver(factory); e.initErr == nil {
		e.SetReadyFunc(e.resolver.Synced)
	}
}

// SetUnconditionalAuthorizer implements initializer.WantsUnconditionalAuthorizer.
func (e *Escalation) SetUnconditionalAuthorizer(authz authorizer.UnconditionalAuthorizer) {
	e.authz = authz
}

// ValidateInitialization says what the server forgot to hand in.
func (e *Escalation) ValidateInitialization() error {
	if e.initErr != nil {
		return fmt.Errorf("admission plugin %s: %w", EscalationPlugin, e.initErr)
	}
	if e.resolver == nil || e.authz == nil {
		return fmt.Errorf("admission plugin %s needs an informer factory and an authorizer", EscalationPlugin)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (e *Escalation) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().Group != rbacv1.GroupName || a.GetSubresource() != "" || isOnlyMutatingGCFields(a) ||
		slices.Contains(a.GetUserInfo().GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	// Without its informers the check would refuse what is held, never allow what is not.
	if !e.WaitForReady() {
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	var err error
	switch obj := a.GetObject().(type) {
	case *rbacv1.Role:
		err = e.checkRules(ctx, a, obj.Rules)
	case *rbacv1.ClusterRole:
		err = e.checkClusterRole(ctx, a, obj)
	case *rbacv1.RoleBinding:
		err = e.checkBinding(ctx, a, obj.RoleRef)
	case *rbacv1.ClusterRoleBinding:
		err = e.checkBinding(ctx, a, obj.RoleRef)
	}
	return err
}

func (e *Escalation) checkClusterRole(ctx context.Context, a admission.Attributes, role *rbacv1.ClusterRole) error {
	var before *rbacv1.AggregationRule
	if old, ok := a.GetOldObject().(*rbacv1.ClusterRole); ok && old != nil {
		before = old.AggregationRule
	}
	if role.AggregationRule == nil || equality.Semantic.DeepEqual(before, role.AggregationRule) {
		return e.checkRules(ctx, a, role.Rules)
	}
	// What a selector will gather is not known today, so it may be anything.
	everything := []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}
	if e.mayEscalate(ctx, a) || e.confirmNoEscalation(ctx, a, everything) == nil {
		return nil
	}
	return admission.NewForbidden(a, errors.New("must have cluster-admin privileges to use an aggregationRule"))
}

// checkRules wants the user to hold rules, or the verb escalate on the role.
func (e *Escalation) checkRules(ctx context.Context, a admission.Attributes, rules []rbacv1.PolicyRule) error {
	if e.mayEscalate(ctx, a) {
		return nil
	}
	if err := e.confirmNoEscalation(ctx, a, rules); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// checkBinding wants the user to hold the role's rules, or the verb bind on it.
func (e *Escalation) checkBinding(ctx context.Context, a admission.Attributes, role rbacv1.RoleRef) error {
	resource := "clusterroles"
	if role.Kind == "Role" {
		resource = "roles"
	}
	if e.isAuthorized(ctx, a, "bind", resource, role.Name) {
		return nil
	}
	rules, err := e.resolver.roleReferenceRules(role, a.GetNamespace())
	if err != nil {
		return err
	}
	if err := e.confirmNoEscalation(ctx, a, rules); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

func (e *Escalation) mayEscalate(ctx context.Context, a admission.Attributes) bool {
	return e.isAuthorized(ctx, a, "escalate", a.GetResource().Resource, a.GetName())
}

func (e *Escalation) isAuthorized(ctx context.Context, a admission.Attributes, verb, resource, name string) bool {
	decision, _, _ := e.authz.Authorize(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: verb, Namespace: a.GetNamespace(), Name: name,
		APIGroup: rbacv1.GroupName, APIVersion: "v1", Resource: resource, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

// confirmNoEscalation is nil when the user holds all of rules where a writes them;
// otherwise its text lists the missing ones, as upstream's.
func (e *Escalation) confirmNoEscalation(ctx context.Context, a admission.Attributes, rules []rbacv1.PolicyRule) error {
	held, resolveErr := e.resolver.Rules(ctx, a.GetUserInfo(), a.GetNamespace())
	ok, missing := validation.Covers(held, rules)
	if ok {
		return nil
	}
	var lines []string
	for _, rule := range compactRules(missing) {
		lines = append(lines, ruleString(rule))
	}
	msg := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		a.GetUserInfo().GetName(), a.GetUserInfo().GetGroups(), strings.Join(lines, "\n"))
	if resolveErr != nil {
		msg += fmt.Sprintf("; resolution errors: %v", resolveErr)
	}
	return errors.New(msg)
}

// isOnlyMutatingGCFields says that an update touches nothing but what a garbage
// collector must: ownerReferences and finalizers (and bookkeeping metadata).
func isOnlyMutatingGCFields(a admission.Attributes) bool {
	if a.GetOperation() != admission.Update || a.GetOldObject() == nil {
		return false
	}
	return equality.Semantic.DeepEqual(withoutGCFields(a.GetObject()), withoutGCFields(a.GetOldObject()))
}

func withoutGCFields(obj runtime.Object) runtime.Object {
	out := obj.DeepCopyObject()
	if m, err := meta.Accessor(out); err == nil {
		m.SetOwnerReferences(nil)
		m.SetFinalizers(nil)
		m.SetManagedFields(nil)
		m.SetResourceVersion("")
		m.SetSelfLink("")
	}
	return out
}
