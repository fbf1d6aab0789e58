package tables

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

func coreTable(resource schema.GroupResource) (Table, bool) {
	if resource.Group != corev1.GroupName {
		if resource.Group == "events.k8s.io" && resource.Resource == "events" {
			return eventTable()
		}
		return Table{}, false
	}
	switch resource.Resource {
	case "pods":
		return podTable()
	case "podtemplates":
		return newTable(podTemplateRow, nameColumn(), stringColumn("Containers", "Names of the containers."),
			stringColumn("Images", "Images of the containers."), stringColumn("Pod Labels", "Labels of the pods."))
	case "nodes":
		return nodeTable()
	case "componentstatuses":
		return newTable(componentStatusRow, nameColumn(), stringColumn("Status", "Whether the component is healthy."),
			stringColumn("Message", "Message of the health check."), stringColumn("Error", "Error of the health check."))
	case "namespaces":
		return newTable(func(ns *corev1.Namespace) []any {
			return []any{ns.Name, string(ns.Status.Phase), age(&ns.ObjectMeta)}
		}, nameColumn(), stringColumn("Status", "Phase of the namespace."), ageColumn())
	case "events":
		return eventTable()
	case "configmaps":
		return newTable(func(cm *corev1.ConfigMap) []any {
			return []any{cm.Name, int64(len(cm.Data) + len(cm.BinaryData)), age(&cm.ObjectMeta)}
		}, nameColumn(), stringColumn("Data", "Number of keys."), ageColumn())
	case "secrets":
		return newTable(func(s *corev1.Secret) []any {
			return []any{s.Name, string(s.Type), int64(len(s.Data)), age(&s.ObjectMeta)}
		}, nameColumn(), stringColumn("Type", "Type of the secret."), stringColumn("Data", "Number of keys."), ageColumn())
	case "serviceaccounts":
		return newTable(func(sa *corev1.ServiceAccount) []any { return []any{sa.Name, age(&sa.ObjectMeta)} }, nameColumn(), ageColumn())
	case "resourcequotas":
		return newTable(quotaRow, nameColumn(), stringColumn("Request", "Used and hard amounts of requests and object counts."),
			stringColumn("Limit", "Used and hard amounts of limits."), ageColumn())
	}
	return Table{}, false
}

func podTemplateRow(t *corev1.PodTemplate) []any {
	names, images := containerCells(t.Template.Spec.Containers)
	return []any{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
}

func containerCells(list []corev1.Container) (names, images string) {
	var n, i []string
	for _, c := range list {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

func nodeTable() (Table, bool) {
	return newTable(nodeRow, nameColumn(),
		stringColumn("Status", "Readiness of the node, and whether it is schedulable."),
		stringColumn("Roles", "Roles of the node, from its labels."),
		ageColumn(),
		stringColumn("Version", "Version of the node agent."),
		wide(stringColumn("Internal-IP", "First address inside the cluster.")),
		wide(stringColumn("External-IP", "First address outside the cluster.")),
		wide(stringColumn("OS-Image", "Operating system.")),
		wide(stringColumn("Kernel-Version", "Kernel and architecture.")),
		wide(stringColumn("Container-Runtime", "Container runtime and its version.")))
}

func nodeRow(n *corev1.Node) []any {
	status := []string{"Unknown"}
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		status[0] = "NotReady"
		if c.Status == corev1.ConditionTrue {
			status[0] = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		status = append(status, "SchedulingDisabled")
	}
	info := n.Status.NodeInfo
	kernel := orUnknown(info.KernelVersion)
	if info.Architecture != "" {
		kernel = fmt.Sprintf("%s (%s)", kernel, info.Architecture)
	}
	return []any{n.Name, strings.Join(status, ","), nodeRoles(n), age(&n.ObjectMeta), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orUnknown(info.OSImage), kernel, orUnknown(info.ContainerRuntimeVersion)}
}

func nodeAddress(n *corev1.Node, addressType corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == addressType {
			return a.Address
		}
	}
	return "<none>"
}

func nodeRoles(n *corev1.Node) string {
	roles := sets.New[string]()
	for key, value := range n.Labels {
		if role, found := strings.CutPrefix(key, "node-role.kubernetes.io/"); found && role != "" {
			roles.Insert(role)
		}
		if key == "kubernetes.io/role" && value != "" {
			roles.Insert(value)
		}
	}
	return orNone(strings.Join(sets.List(roles), ","))
}

func eventTable() (Table, bool) {
	return newTable(eventRow,
		stringColumn("Last Seen", "Time since the last occurrence."),
		stringColumn("Type", "Normal or Warning."),
		stringColumn("Reason", "Reason of the event."),
		stringColumn("Object", "Object that the event is about."),
		wide(stringColumn("Subobject", "Part of the object.")),
		wide(stringColumn("Source", "Component that reported the event.")),
		stringColumn("Message", "Message of the event."),
		wide(stringColumn("First Seen", "Time since the first occurrence.")),
		wide(stringColumn("Count", "Number of occurrences.")),
		wide(nameColumn()))
}

func eventRow(e *corev1.Event) []any {
	first := timestampSince(e.FirstTimestamp)
	if e.FirstTimestamp.IsZero() {
		first = timestampSince(metav1.Time{Time: e.EventTime.Time})
	}
	last := first
	if !e.LastTimestamp.IsZero() {
		last = timestampSince(e.LastTimestamp)
	}
	count := max(e.Count, 1)
	if e.Series != nil {
		last, count = timestampSince(metav1.Time{Time: e.Series.LastObservedTime.Time}), e.Series.Count
	}
	object := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		object += "/" + e.InvolvedObject.Name
	}
	source := firstNonEmpty(e.Source.Component, e.ReportingController)
	if instance := firstNonEmpty(e.Source.Host, e.ReportingInstance); instance != "" {
		source += ", " + instance
	}
	return []any{last, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source, strings.TrimSpace(e.Message), first, int64(count), e.Name}
}

func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func quotaRow(q *corev1.ResourceQuota) []any {
	var names []string
	for name := range q.Status.Hard {
		names = append(names, string(name))
	}
	slices.Sort(names)
	var requests, limits []string
	for _, name := range names {
		used, hard := q.Status.Used[corev1.ResourceName(name)], q.Status.Hard[corev1.ResourceName(name)]
		cell := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(name, "limits.") {
			limits = append(limits, cell)
		} else {
			requests = append(requests, cell)
		}
	}
	return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(&q.ObjectMeta)}
}

func componentStatusRow(c *corev1.ComponentStatus) []any {
	status, message, failure := "Unknown", "", ""
	for _, condition := range c.Conditions {
		if condition.Type != corev1.ComponentHealthy {
			continue
		}
		message, failure = condition.Message, condition.Error
		switch condition.Status {
		case corev1.ConditionTrue:
			status = "Healthy"
		case corev1.ConditionFalse:
			status = "Unhealthy"
		}
	}
	return []any{c.Name, status, message, failure}
}
