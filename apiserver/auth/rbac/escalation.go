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

// EscalationPlugin is the name of the Escalation plugin.
const EscalationPlugin = "RBACEscalation"

// Escalation is a validating admission plugin that prevents privilege escalation: a user may write
// only roles, and bindings to roles, whose permissions the user holds.
type Escalation struct {
	*admission.Handler
	resolver *Resolver
	initErr  error // error of creating the resolver
	authz    authorizer.UnconditionalAuthorizer
}

var (
	_ admission.ValidationInterface                = &Escalation{}
	_ initializer.WantsExternalKubeInformerFactory = &Escalation{}
	_ initializer.WantsUnconditionalAuthorizer     = &Escalation{}
)

// NewEscalation returns an uninitialized plugin.
func NewEscalation() *Escalation {
	return &Escalation{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// RegisterEscalation registers the plugin.
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

// ValidateInitialization implements admission.InitializationValidator.
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
	// Before its informers have synced, the check could reject valid requests but never allow
	// escalation.
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
	var previousRule *rbacv1.AggregationRule
	if old, ok := a.GetOldObject().(*rbacv1.ClusterRole); ok && old != nil {
		previousRule = old.AggregationRule
	}
	if role.AggregationRule == nil || equality.Semantic.DeepEqual(previousRule, role.AggregationRule) {
		return e.checkRules(ctx, a, role.Rules)
	}
	// The roles that a selector will match in the future are unknown, so require all permissions.
	allRules := []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}
	if e.mayEscalate(ctx, a) || e.confirmNoEscalation(ctx, a, allRules) == nil {
		return nil
	}
	return admission.NewForbidden(a, errors.New("must have cluster-admin privileges to use an aggregationRule"))
}

// checkRules requires the user to hold the rules, or the verb escalate on the role.
func (e *Escalation) checkRules(ctx context.Context, a admission.Attributes, rules []rbacv1.PolicyRule) error {
	if e.mayEscalate(ctx, a) {
		return nil
	}
	if err := e.confirmNoEscalation(ctx, a, rules); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// checkBinding requires the user to hold the rules of the role, or the verb bind on it.
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

// confirmNoEscalation returns nil if the user holds all rules in the namespace of a. Otherwise the
// error lists the missing rules, as upstream's does.
func (e *Escalation) confirmNoEscalation(ctx context.Context, a admission.Attributes, rules []rbacv1.PolicyRule) error {
	heldRules, resolveErr := e.resolver.Rules(ctx, a.GetUserInfo(), a.GetNamespace())
	ok, missing := validation.Covers(heldRules, rules)
	if ok {
		return nil
	}
	var lines []string
	for _, rule := range compactRules(missing) {
		lines = append(lines, ruleString(rule))
	}
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		a.GetUserInfo().GetName(), a.GetUserInfo().GetGroups(), strings.Join(lines, "\n"))
	if resolveErr != nil {
		message += fmt.Sprintf("; resolution errors: %v", resolveErr)
	}
	return errors.New(message)
}

// isOnlyMutatingGCFields reports whether an update changes only the fields that the garbage
// collector needs: ownerReferences and finalizers, besides bookkeeping metadata.
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
