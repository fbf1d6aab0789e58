package rbac

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"github.com/berthproject/berth/apiserver/auth/rbac/policy"
)

// Bootstrap makes the built-in roles and bindings exist with at least their
// rules and subjects. A role annotated
// rbac.authorization.kubernetes.io/autoupdate=false is left as people made it.
// It tries again until ctx ends, because other servers may write at the same
// time; the error then names the object that resisted. The namespace
// kube-system is created if need be.
func Bootstrap(ctx context.Context, client kubernetes.Interface) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		last = reconcileAll(client)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("making the built-in roles: %w", last)
	}
	return err
}

func reconcileAll(client kubernetes.Interface) error {
	if err := reconcileRoles(client); err != nil {
		return err
	}
	return reconcileBindings(client)
}

func reconcileRoles(client kubernetes.Interface) error {
	for _, role := range policy.ClusterRoles() {
		err := reconcileRole(
			reconciliation.ClusterRoleRuleOwner{ClusterRole: role},
			reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()})
		if err != nil {
			return fmt.Errorf("clusterrole %s: %w", role.Name, err)
		}
	}
	for _, role := range policy.Roles() {
		err := reconcileRole(
			reconciliation.RoleRuleOwner{Role: role},
			reconciliation.RoleModifier{Client: client.RbacV1(), NamespaceClient: client.CoreV1().Namespaces()})
		if err != nil {
			return fmt.Errorf("role %s/%s: %w", role.Namespace, role.Name, err)
		}
	}
	return nil
}

func reconcileBindings(client kubernetes.Interface) error {
	for _, b := range policy.ClusterRoleBindings() {
		err := reconcileBinding(
			reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: b},
			reconciliation.ClusterRoleBindingClientAdapter{Client: client.RbacV1().ClusterRoleBindings()})
		if err != nil {
			return fmt.Errorf("clusterrolebinding %s: %w", b.Name, err)
		}
	}
	for _, b := range policy.RoleBindings() {
		err := reconcileBinding(
			reconciliation.RoleBindingAdapter{RoleBinding: b},
			reconciliation.RoleBindingClientAdapter{Client: client.RbacV1(), NamespaceClient: client.CoreV1().Namespaces()})
		if err != nil {
			return fmt.Errorf("rolebinding %s/%s: %w", b.Namespace, b.Name, err)
		}
	}
	return nil
}

func reconcileRole(role reconciliation.RuleOwner, client reconciliation.RuleOwnerModifier) error {
	opts := reconciliation.ReconcileRoleOptions{Role: role, Client: client, Confirm: true}
	_, err := opts.Run()
	return settled(err)
}

func reconcileBinding(b reconciliation.RoleBinding, client reconciliation.RoleBindingModifier) error {
	opts := reconciliation.ReconcileRoleBindingOptions{RoleBinding: b, Client: client, Confirm: true}
	_, err := opts.Run()
	return settled(err)
}

// settled drops "somebody made it first": the next start sees it and compares.
func settled(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
