package tables

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// containersAndImages returns the columns for the cells of containerCells.
func containersAndImages() (metav1.TableColumnDefinition, metav1.TableColumnDefinition) {
	return wide(stringColumn("Containers", "Names of the containers.")), wide(stringColumn("Images", "Images of the containers."))
}

func appsTable(resource schema.GroupResource) (Table, bool) {
	containers, images := containersAndImages()
	selector := wide(stringColumn("Selector", "Selector of the pods."))
	desired := integerColumn("Desired", "Desired number of pods.")
	current, ready := integerColumn("Current", "Current number of pods."), integerColumn("Ready", "Number of ready pods.")
	switch resource {
	case appsv1.Resource("deployments"):
		return newTable(deploymentRow, nameColumn(), stringColumn("Ready", "Ready and desired number of pods."),
			stringColumn("Up-to-date", "Number of pods of the current template."), stringColumn("Available", "Number of available pods."), ageColumn(), containers, images, selector)
	case appsv1.Resource("replicasets"):
		return newTable(func(rs *appsv1.ReplicaSet) []any {
			names, images := containerCells(rs.Spec.Template.Spec.Containers)
			return []any{rs.Name, int64(deref(rs.Spec.Replicas, 0)), int64(rs.Status.Replicas), int64(rs.Status.ReadyReplicas),
				age(&rs.ObjectMeta), names, images, metav1.FormatLabelSelector(rs.Spec.Selector)}
		}, nameColumn(), desired, current, ready, ageColumn(), containers, images, selector)
	case corev1.Resource("replicationcontrollers"):
		return newTable(replicationControllerRow, nameColumn(), desired, current, ready, ageColumn(), containers, images, selector)
	case appsv1.Resource("daemonsets"):
		return newTable(daemonSetRow, nameColumn(), desired, current, ready, integerColumn("Up-to-date", "Number of pods of the current template."),
			integerColumn("Available", "Number of available pods."), stringColumn("Node Selector", "Node selector of the pods."), ageColumn(), containers, images, selector)
	case appsv1.Resource("statefulsets"):
		return newTable(func(ss *appsv1.StatefulSet) []any {
			names, images := containerCells(ss.Spec.Template.Spec.Containers)
			return []any{ss.Name, fmt.Sprintf("%d/%d", ss.Status.ReadyReplicas, deref(ss.Spec.Replicas, 0)), age(&ss.ObjectMeta), names, images}
		}, nameColumn(), stringColumn("Ready", "Ready and desired number of pods."), ageColumn(), containers, images)
	case appsv1.Resource("controllerrevisions"):
		return newTable(revisionRow, nameColumn(), stringColumn("Controller", "Controller of the revision."), integerColumn("Revision", "Number of the revision."), ageColumn())
	}
	return Table{}, false
}

func deploymentRow(d *appsv1.Deployment) []any {
	names, images := containerCells(d.Spec.Template.Spec.Containers)
	return []any{d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, deref(d.Spec.Replicas, 0)), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), age(&d.ObjectMeta), names, images, metav1.FormatLabelSelector(d.Spec.Selector)}
}

func replicationControllerRow(rc *corev1.ReplicationController) []any {
	var names, images string
	if rc.Spec.Template != nil {
		names, images = containerCells(rc.Spec.Template.Spec.Containers)
	}
	return []any{rc.Name, int64(deref(rc.Spec.Replicas, 0)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas),
		age(&rc.ObjectMeta), names, images, labels.FormatLabels(rc.Spec.Selector)}
}

func daemonSetRow(ds *appsv1.DaemonSet) []any {
	names, images := containerCells(ds.Spec.Template.Spec.Containers)
	s := ds.Status
	return []any{ds.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled),
		int64(s.NumberAvailable), labels.FormatLabels(ds.Spec.Template.Spec.NodeSelector), age(&ds.ObjectMeta), names, images, metav1.FormatLabelSelector(ds.Spec.Selector)}
}

func revisionRow(r *appsv1.ControllerRevision) []any {
	owner := "<none>"
	if ref := metav1.GetControllerOf(r); ref != nil {
		owner = strings.ToLower(ref.Kind)
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil && gv.Group != "" {
			owner += "." + gv.Group
		}
		owner += "/" + ref.Name
	}
	return []any{r.Name, owner, r.Revision, age(&r.ObjectMeta)}
}
