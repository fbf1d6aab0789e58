package tables

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// row returns the joined cells of an object and checks that their number matches the columns.
func row(t *testing.T, resource schema.GroupResource, obj runtime.Object) string {
	t.Helper()
	table, found := For(resource)
	if !found {
		t.Fatalf("%s has no table", resource)
	}
	cells, err := table.Row(obj)
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != len(table.Columns) {
		t.Errorf("%s: got %d cells, want %d, one for each column", resource, len(cells), len(table.Columns))
	}
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = fmt.Sprint(c)
	}
	return strings.Join(out, "|")
}

func ptr[T any](v T) *T { return &v }

func TestPodRow(t *testing.T) {
	restarted := metav1.NewTime(time.Now().Add(-2 * time.Hour))
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	terminated := func(reason string, code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, FinishedAt: restarted}}
	}
	always := corev1.ContainerRestartPolicyAlways
	two := corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}
	for name, tc := range map[string]struct {
		spec    corev1.PodSpec
		status  corev1.PodStatus
		deleted bool
		want    string // ready, status, restarts
	}{
		"pending": {spec: two, status: corev1.PodStatus{Phase: corev1.PodPending}, want: "0/2|Pending|0"},
		"gated": {spec: two, status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated}}}, want: "0/2|SchedulingGated|0"},
		"container with restarts": {spec: two, status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", Ready: true, State: running, RestartCount: 2, LastTerminationState: terminated("Error", 1)}, {Name: "b", Ready: true, State: running}}},
			want: "2/2|Running|2 (120m ago)"},
		"one container completed": {spec: two, status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", State: terminated("Completed", 0)}, {Name: "b", Ready: true, State: running}}}, want: "1/2|NotReady|0"},
		"exit code":   {spec: two, status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a", State: terminated("", 3)}}}, want: "0/2|ExitCode:3|0"},
		"evicted":     {spec: two, status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, deleted: true, want: "0/2|Evicted|0"},
		"terminating": {spec: two, status: corev1.PodStatus{Phase: corev1.PodRunning}, deleted: true, want: "0/2|Terminating|0"},
		"node lost":   {spec: two, status: corev1.PodStatus{Phase: corev1.PodRunning, Reason: "NodeLost"}, deleted: true, want: "0/2|Unknown|0"},
		"init failed": {spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i"}}, Containers: []corev1.Container{{Name: "a"}}},
			status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: terminated("Error", 1), RestartCount: 1}}}, want: "0/1|Init:Error|1"},
		"sidecar": {spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "s", RestartPolicy: &always}}, Containers: []corev1.Container{{Name: "a"}}},
			status: corev1.PodStatus{Phase: corev1.PodRunning,
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "s", Ready: true, Started: ptr(true), State: running}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "a", Ready: true, State: running}}}, want: "2/2|Running|0"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: tc.spec, Status: tc.status}
		if tc.deleted {
			pod.DeletionTimestamp = &restarted
		}
		if got := row(t, corev1.Resource("pods"), pod); got != "p|"+tc.want+"|<unknown>|<none>|<none>|<none>|<none>" {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestRows(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "x"}
	for want, tc := range map[string]struct {
		resource schema.GroupResource
		obj      runtime.Object
	}{
		"x|Ready,SchedulingDisabled|a,b|<unknown>|v1|1.2.3.4|<none>|<unknown>|k (amd64)|<unknown>": {corev1.Resource("nodes"), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
			Spec:       corev1.NodeSpec{Unschedulable: true},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "1.2.3.4"}},
				NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "v1", KernelVersion: "k", Architecture: "amd64"}}}},
		"x|LoadBalancer|10.0.0.1|<pending>|80:30001/TCP|<unknown>|<none>": {corev1.Resource("services"), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"10.0.0.1"}, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30001, Protocol: "TCP"}}}}},
		"x|1.1.1.1:80,1.1.1.2:80,1.1.1.3:80 + 1 more...|<unknown>": {corev1.Resource("endpoints"), &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // still served
			Ports: []corev1.EndpointPort{{Port: 80}}, Addresses: []corev1.EndpointAddress{{IP: "1.1.1.1"}, {IP: "1.1.1.2"}, {IP: "1.1.1.3"}, {IP: "1.1.1.4"}}}}}}, //nolint:staticcheck // still served
		"x|IPv4|*|<unset>|<unknown>": {discoveryv1.Resource("endpointslices"), &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: "IPv4", Ports: []discoveryv1.EndpointPort{{}}}},
		"x|Complete|1/1|10s|<unknown>|||<none>": {batchv1.Resource("jobs"), &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Completions: ptr[int32](1), Selector: &metav1.LabelSelector{}},
			Status: batchv1.JobStatus{Succeeded: 1, StartTime: ptr(metav1.Unix(10, 0)), CompletionTime: ptr(metav1.Unix(20, 0)),
				Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}}},
		"x|@daily|<none>|False|0|<none>|<unknown>|||<none>": {batchv1.Resource("cronjobs"), &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "@daily", Suspend: ptr(false)}}},
		"x|statefulset.apps/web|3|<unknown>": {appsv1.Resource("controllerrevisions"), &appsv1.ControllerRevision{Revision: 3, ObjectMeta: metav1.ObjectMeta{Name: "x",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", Controller: ptr(true)}}}}},
		"x (default)|p|Delete|<unset>|false|<unknown>": {storagev1.Resource("storageclasses"), &storagev1.StorageClass{Provisioner: "p",
			ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{defaultClass: "true"}}}},
		"x|Bound|v|1Gi|RWO,RWX|s|<unset>|<unknown>|<unset>": {corev1.Resource("persistentvolumeclaims"), &corev1.PersistentVolumeClaim{ObjectMeta: meta,
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v", StorageClassName: ptr("s")},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce},
				Capacity: newResourceList("storage", "1Gi")}}},
		"x|pods: 1/2|limits.cpu: 1/2|<unknown>": {corev1.Resource("resourcequotas"), &corev1.ResourceQuota{ObjectMeta: meta, Status: corev1.ResourceQuotaStatus{
			Hard: newResourceList("pods", "2", "limits.cpu", "2"), Used: newResourceList("pods", "1", "limits.cpu", "1")}}},
		"x|Role/r|<unknown>|u|g|ns/a": {rbacv1.Resource("rolebindings"), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}, {Kind: "Group", Name: "g"}, {Kind: "ServiceAccount", Namespace: "ns", Name: "a"}}}},
	} {
		if got := row(t, tc.resource, tc.obj); got != want {
			t.Errorf("%s:\n got  %s\n want %s", tc.resource, got, want)
		}
	}
}

// TestResourceWithoutTable checks that a resource without a table has the columns name and creation time, and that
// an object of another type is an error.
func TestResourceWithoutTable(t *testing.T) {
	table, found := For(corev1.Resource("limitranges"))
	cells, err := table.Row(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: metav1.Unix(0, 0)}})
	if found || err != nil || fmt.Sprint(cells) != "[x 1970-01-01T00:00:00Z]" {
		t.Errorf("limit range: got found %v, cells %v, error %v, want only name and creation time", found, cells, err)
	}
	pods, _ := For(corev1.Resource("pods"))
	if _, err := pods.Row(&corev1.Node{}); err == nil {
		t.Error("row of a node in the table of pods: got no error, want one")
	}
}
