package rbac

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"github.com/berthproject/berth/apiserver/auth/rbac/policy"
)

// Bootstrap creates the built-in roles and bindings and adds missing rules and subjects. It skips
// objects annotated with rbac.authorization.kubernetes.io/autoupdate=false and creates the
// namespace kube-system if needed. It retries until ctx is done, because other servers may write
// concurrently. The error then names the failed object.
func Bootstrap(ctx context.Context, client kubernetes.Interface) error {
	var lastErr error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		lastErr = reconcileAll(ctx, client)
		return lastErr == nil, nil
	})
	if err != nil && lastErr != nil {
		return fmt.Errorf("creating the built-in roles: %w", lastErr)
	}
	return err
}

// bootstrapWorkers is the number of concurrent reconciles. Sequential reconciles would delay the start
// by about a hundred disk syncs. Concurrent writes share a disk sync.
const bootstrapWorkers = 64

// reconcileAll reconciles roles before bindings, so that no binding refers to a missing role.
func reconcileAll(ctx context.Context, client kubernetes.Interface) error {
	if err := runParallel(ctx, roleTasks(client)); err != nil {
		return err
	}
	return runParallel(ctx, bindingTasks(client))
}

// runParallel runs the tasks concurrently and joins their errors.
func runParallel(ctx context.Context, tasks []func() error) error {
	errs := make([]error, len(tasks))
	workqueue.ParallelizeUntil(ctx, bootstrapWorkers, len(tasks), func(i int) { errs[i] = tasks[i]() })
	return errors.Join(append(errs, ctx.Err())...)
}

func roleTasks(client kubernetes.Interface) []func() error {
	var tasks []func() error
	for _, role := range policy.ClusterRoles() {
		tasks = append(tasks, func() error {
			return wrapObjectError("clusterrole "+role.Name, reconcileRole(
				reconciliation.ClusterRoleRuleOwner{ClusterRole: role},
				reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()}))
		})
	}
	for _, role := range policy.Roles() {
		tasks = append(tasks, func() error {
			return wrapObjectError("role "+role.Namespace+"/"+role.Name, reconcileRole(
				reconciliation.RoleRuleOwner{Role: role},
				reconciliation.RoleModifier{Client: client.RbacV1(), NamespaceClient: client.CoreV1().Namespaces()}))
		})
	}
	return tasks
}

func bindingTasks(client kubernetes.Interface) []func() error {
	var tasks []func() error
	for _, b := range policy.ClusterRoleBindings() {
		tasks = append(tasks, func() error {
			return wrapObjectError("clusterrolebinding "+b.Name, reconcileBinding(
				reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: b},
				reconciliation.ClusterRoleBindingClientAdapter{Client: client.RbacV1().ClusterRoleBindings()}))
		})
	}
	for _, b := range policy.RoleBindings() {
		tasks = append(tasks, func() error {
			return wrapObjectError("rolebinding "+b.Namespace+"/"+b.Name, reconcileBinding(
				reconciliation.RoleBindingAdapter{RoleBinding: b},
				reconciliation.RoleBindingClientAdapter{Client: client.RbacV1(), NamespaceClient: client.CoreV1().Namespaces()}))
		})
	}
	return tasks
}

func wrapObjectError(object string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", object, err)
	}
	return nil
}

func reconcileRole(role reconciliation.RuleOwner, client reconciliation.RuleOwnerModifier) error {
	opts := reconciliation.ReconcileRoleOptions{Role: role, Client: client, Confirm: true}
	_, err := opts.Run()
	return ignoreAlreadyExists(err)
}

func reconcileBinding(b reconciliation.RoleBinding, client reconciliation.RoleBindingModifier) error {
	opts := reconciliation.ReconcileRoleBindingOptions{RoleBinding: b, Client: client, Confirm: true}
	_, err := opts.Run()
	return ignoreAlreadyExists(err)
}

// ignoreAlreadyExists returns nil if another server created the object first. The next start
// reconciles it.
func ignoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
