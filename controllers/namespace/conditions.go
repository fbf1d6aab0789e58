package namespace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// updateStatus writes the remaining content and the errors to the status of the namespace, if they have changed.
func (c *controller) updateStatus(ctx context.Context, ns *corev1.Namespace, content *remainingContent) error {
	updated := ns.DeepCopy()
	updated.Status.Phase = corev1.NamespaceTerminating
	for _, condition := range content.conditions() {
		updated.Status.Conditions = setCondition(updated.Status.Conditions, condition, metav1.NewTime(c.now()))
	}
	if equality.Semantic.DeepEqual(ns.Status, updated.Status) {
		return nil
	}
	_, err := c.client.CoreV1().Namespaces().UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	return err
}

// conditions returns all conditions, with upstream's reasons and messages.
func (c *remainingContent) conditions() []corev1.NamespaceCondition {
	return []corev1.NamespaceCondition{
		failureCondition(corev1.NamespaceDeletionDiscoveryFailure, c.discovery,
			"ResourcesDiscovered", "All resources successfully discovered",
			"DiscoveryFailed", "Discovery failed for some groups, %d failing: %v"),
		failureCondition(corev1.NamespaceDeletionGVParsingFailure, c.parsing,
			"ParsedGroupVersions", "All legacy kube types successfully parsed",
			"GroupVersionParsingFailed", "GV parsing failed, %d failing: %v"),
		failureCondition(corev1.NamespaceDeletionContentFailure, c.deletion,
			"ContentDeleted", "All content successfully deleted, may be waiting on finalization",
			"ContentDeletionFailed", "Failed to delete all resource types, %d remaining: %v"),
		c.contentRemaining(),
		c.finalizersRemaining(),
	}
}

func failureCondition(kind corev1.NamespaceConditionType, errs []error, okReason, okMessage, failureReason, failureFormat string) corev1.NamespaceCondition {
	if len(errs) == 0 {
		return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionFalse, Reason: okReason, Message: okMessage}
	}
	msgs := make([]string, len(errs))
	for i, err := range errs {
		msgs[i] = err.Error()
	}
	return corev1.NamespaceCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: failureReason,
		Message: fmt.Sprintf(failureFormat, len(errs), strings.Join(msgs, ", ")),
	}
}

func (c *remainingContent) contentRemaining() corev1.NamespaceCondition {
	if len(c.remaining) == 0 {
		return corev1.NamespaceCondition{
			Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionFalse,
			Reason: "ContentRemoved", Message: "All content successfully removed",
		}
	}
	resources := slices.SortedFunc(maps.Keys(c.remaining), func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.String(), b.String())
	})
	var parts []string
	for _, gvr := range resources {
		parts = append(parts, fmt.Sprintf("%s.%s has %d resource instances", gvr.Resource, gvr.Group, c.remaining[gvr]))
	}
	return corev1.NamespaceCondition{
		Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue,
		Reason: "SomeResourcesRemain", Message: "Some resources are remaining: " + strings.Join(parts, ", "),
	}
}

func (c *remainingContent) finalizersRemaining() corev1.NamespaceCondition {
	if len(c.finalizers) == 0 {
		return corev1.NamespaceCondition{
			Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionFalse,
			Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished",
		}
	}
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(c.finalizers)) {
		parts = append(parts, fmt.Sprintf("%s in %d resource instances", f, c.finalizers[f]))
	}
	return corev1.NamespaceCondition{
		Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionTrue,
		Reason: "SomeFinalizersRemain", Message: "Some content in the namespace has finalizers remaining: " + strings.Join(parts, ", "),
	}
}

// setCondition replaces the condition of c's type. It keeps the transition time if the status is unchanged.
func setCondition(in []corev1.NamespaceCondition, c corev1.NamespaceCondition, now metav1.Time) []corev1.NamespaceCondition {
	c.LastTransitionTime = now
	for i := range in {
		if in[i].Type != c.Type {
			continue
		}
		if in[i].Status == c.Status {
			c.LastTransitionTime = in[i].LastTransitionTime
		}
		in[i] = c
		return in
	}
	return append(in, c)
}
