package kinds

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/validation/apps"
	"github.com/berthproject/berth/apiserver/validation/network"
)

// TestUpdate validates updates. As in kube-apiserver, some errors are reported twice.
func TestUpdate(t *testing.T) {
	const immutableSpec = "spec: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
	const nameLabel = `"kubernetes.io/metadata.name":"x"`
	for name, tc := range map[string]struct{ before, after, want string }{
		"node keeps podCIDR": {`v1 Node {"spec":{"podCIDR":"10.0.0.0/24"}}`, `v1 Node {"spec":{"podCIDR":"10.1.0.0/24"}}`,
			`spec.podCIDRs: node updates may not change podCIDR except from "" to valid`},
		"taint errors are reported twice": {`v1 Node {}`, `v1 Node {"spec":{"taints":[{"key":"k","effect":"NoSchedule"},{"key":"k","effect":"NoSchedule"}]}}`,
			"metadata.taints[1]: taints must be unique by key and effect pair; metadata.taints[1]: taints must be unique by key and effect pair"},
		"name label of a namespace is restored": {`v1 Namespace {}`, `v1 Namespace {"metadata":{"labels":{` + nameLabel + `}}}`, ""},
		"immutable config map": {`v1 ConfigMap {"immutable":true,"data":{"a":"b"}}`, `v1 ConfigMap {"immutable":true,"data":{"a":"c"}}`,
			"data: field is immutable when `immutable` is set"},
		"secret keeps its type":                 {`v1 Secret {}`, `v1 Secret {"type":"x"}`, "type: field is immutable"},
		"secret with the same type":             {`v1 Secret {"type":"a"}`, `v1 Secret {"type":"a","data":{"k":"dg=="}}`, ""},
		"priority class keeps its value":        {`scheduling.k8s.io/v1 PriorityClass {}`, `scheduling.k8s.io/v1 PriorityClass {"value":1}`, "value: may not be changed in an update."},
		"storage class keeps its provisioner":   {`storage.k8s.io/v1 StorageClass {"provisioner":"a"}`, `storage.k8s.io/v1 StorageClass {"provisioner":"b"}`, "provisioner: field is immutable"},
		"deployment keeps its selector":         {`apps/v1 Deployment {"spec":{` + workload + `}}`, `apps/v1 Deployment {"spec":{"selector":{"matchLabels":{"a":"c"}},"template":{"metadata":{"labels":{"a":"c"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}}`, "spec.selector: field is immutable"},
		"serviceName is immutable":              {`apps/v1 StatefulSet {"spec":{` + workload + `}}`, `apps/v1 StatefulSet {"spec":{"serviceName":"s",` + workload + `}}`, immutableSpec},
		"stateful set may be scaled":            {`apps/v1 StatefulSet {"spec":{` + workload + `}}`, `apps/v1 StatefulSet {"spec":{"replicas":3,` + workload + `}}`, ""},
		"endpoint slice keeps its address type": {`discovery.k8s.io/v1 EndpointSlice {"addressType":"IPv4"}`, `discovery.k8s.io/v1 EndpointSlice {"addressType":"IPv6"}`, "addressType: field is immutable"},
		"runtime class keeps its handler":       {`node.k8s.io/v1 RuntimeClass {"handler":"a"}`, `node.k8s.io/v1 RuntimeClass {"handler":"b"}`, "handler: field is immutable"},
		"quota keeps its scopes":                {`v1 ResourceQuota {"spec":{"scopes":["BestEffort"]}}`, `v1 ResourceQuota {}`, "spec.scopes: field is immutable"},
		"cluster IP is immutable": {`v1 Service {"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}`, `v1 Service {"spec":{"clusterIP":"10.0.0.2","ports":[{"port":80}]}}`,
			"spec.clusterIPs[0]: may not change once set"},
		"omitted cluster IP is restored": {`v1 Service {"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}`, `v1 Service {"spec":{"ports":[{"port":81}]}}`, ""},
		"claim can be bound":             {`v1 PersistentVolumeClaim {"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}`, `v1 PersistentVolumeClaim {"spec":{"volumeName":"v","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}`, ""},
	} {
		if got := updateObject(t, tc.before, tc.after, false); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestStatusUpdate(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"replicas": {`apps/v1 ReplicaSet {"spec":{` + workload + `}}`, `apps/v1 ReplicaSet {"spec":{` + workload + `},"status":{"replicas":1,"readyReplicas":2}}`,
			"status.readyReplicas: cannot be greater than status.replicas"},
		"budget":    {`policy/v1 PodDisruptionBudget {}`, `policy/v1 PodDisruptionBudget {"status":{"disruptionsAllowed":-1}}`, "status.disruptionsAllowed: must be greater than or equal to 0"},
		"namespace": {`v1 Namespace {}`, `v1 Namespace {"status":{"phase":"Terminating"}}`, "status.Phase: may only be 'Active' if `deletionTimestamp` is empty"},
		"addresses": {`v1 Node {}`, `v1 Node {"status":{"addresses":[{"type":"InternalIP","address":"1"},{"type":"InternalIP","address":"1"}]}}`, "status.addresses[1]: "},
		"ingress": {`v1 Service {"spec":{"ports":[{"port":80}]}}`, `v1 Service {"spec":{"ports":[{"port":80}]},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`,
			"status.loadBalancer.ingress: may only be used when `spec.type` is \"LoadBalancer\""},
	} {
		if got := updateObject(t, tc.before, tc.after, true); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestDaemonSetTemplateGeneration(t *testing.T) {
	obj, _ := createObject(t, `apps/v1 DaemonSet {"spec":{`+workload+`}}`)
	old := obj.(*appsv1.DaemonSet)
	updated := old.DeepCopy()
	updated.Annotations = nil
	apps.PrepareDaemonSetForUpdate(updated, old)
	if got := updated.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "1" {
		t.Errorf("same template: got generation %q, want 1", got)
	}
	updated.Spec.Template.Spec.Containers[0].Image = "app:2"
	apps.PrepareDaemonSetForUpdate(updated, old)
	if got := updated.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "2" {
		t.Errorf("new template: got generation %q, want 2", got)
	}
}

func TestServiceTypeChange(t *testing.T) {
	obj, _ := createObject(t, `v1 Service {"spec":{"type":"NodePort","clusterIP":"10.0.0.1","ports":[{"port":80,"nodePort":30001}]}}`)
	old := obj.(*corev1.Service)
	updated := old.DeepCopy()
	updated.Spec.Ports[0].NodePort = 0
	network.PrepareServiceForUpdate(updated, old)
	if got := updated.Spec.Ports[0].NodePort; got != 30001 {
		t.Errorf("omitted node port: got %d, want 30001", got)
	}
	updated.Spec.Type, updated.Spec.ExternalName = corev1.ServiceTypeExternalName, "a.b"
	network.PrepareServiceForUpdate(updated, old)
	if updated.Spec.ClusterIP != "" || len(updated.Spec.ClusterIPs) != 0 || updated.Spec.Ports[0].NodePort != 0 || updated.Spec.ExternalTrafficPolicy != "" {
		t.Errorf("ExternalName: got spec %+v, want no cluster IP and no node port", updated.Spec)
	}
}
