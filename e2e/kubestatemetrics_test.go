package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// stateMetricsResources are the resources that kube-state-metrics watches by default, and endpoints, which it watched
// by default until endpointslices replaced them. The manifest stateMetricsObjects has an object of each.
var stateMetricsResources = []struct{ groupVersion, resource, kind string }{
	{"v1", "configmaps", "ConfigMap"},
	{"v1", "endpoints", "Endpoints"},
	{"v1", "limitranges", "LimitRange"},
	{"v1", "namespaces", "Namespace"},
	{"v1", "nodes", "Node"},
	{"v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
	{"v1", "persistentvolumes", "PersistentVolume"},
	{"v1", "pods", "Pod"},
	{"v1", "replicationcontrollers", "ReplicationController"},
	{"v1", "resourcequotas", "ResourceQuota"},
	{"v1", "secrets", "Secret"},
	{"v1", "services", "Service"},
	{"admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"},
	{"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"},
	{"apps/v1", "daemonsets", "DaemonSet"},
	{"apps/v1", "deployments", "Deployment"},
	{"apps/v1", "replicasets", "ReplicaSet"},
	{"apps/v1", "statefulsets", "StatefulSet"},
	{"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"},
	{"batch/v1", "cronjobs", "CronJob"},
	{"batch/v1", "jobs", "Job"},
	{"certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest"},
	{"coordination.k8s.io/v1", "leases", "Lease"},
	{"discovery.k8s.io/v1", "endpointslices", "EndpointSlice"},
	{"networking.k8s.io/v1", "ingresses", "Ingress"},
	{"networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"},
	{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"},
	{"storage.k8s.io/v1", "storageclasses", "StorageClass"},
	{"storage.k8s.io/v1", "volumeattachments", "VolumeAttachment"},
}

// stateMetricsObjects has an object named watched of each resource; {request} is a certificate request. The quota is the
// last one, because it limits nothing before its status is computed.
const stateMetricsObjects = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: watched}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: watched}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: watched}}
---
{apiVersion: v1, kind: Node, metadata: {name: watched}, spec: {unschedulable: true}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: watched}, spec: {storageClassName: a, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: watched}, spec: {storageClassName: b, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /tmp}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: watched}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "x:1"}]}}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: watched}, spec: {replicas: 0, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "x:1"}]}}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: watched}}
---
{apiVersion: v1, kind: Service, metadata: {name: watched}, spec: {ports: [{port: 80}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: watched}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: watched}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: watched}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {a: b}, containers: [{name: c, image: "x:1"}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: watched}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "x:1"}]}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: watched}, spec: {replicas: 0, selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: "x:1"}]}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: watched}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "x:1"}]}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: watched}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: watched}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: watched}, spec: {suspend: true, schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "x:1"}]}}}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: watched}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "x:1"}]}}}}
---
{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: watched}, spec: {signerName: example.com/none, usages: [client auth], request: "{request}"}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: watched}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: watched}, addressType: IPv4, endpoints: []}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: watched}, spec: {defaultBackend: {service: {name: watched, port: {number: 80}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: watched}, spec: {podSelector: {matchLabels: {a: b}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: watched}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: watched}, provisioner: example.com/none}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: watched}, spec: {attacher: none.example.com, nodeName: watched, source: {persistentVolumeName: watched}}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: watched}, spec: {limits: [{type: Container, default: {cpu: "1"}}]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: watched}, spec: {hard: {count/widgets.example.com: "1"}}}
`

// TestKubeStateMetrics does what kube-state-metrics does, whose module cannot be downloaded. It watches the resources
// that the program watches by default, with the permissions that its ClusterRole grants: list and watch. The reflectors
// of client-go receive the existing objects and every change from one watch for each resource. No request fails, with
// and without streaming lists.
func TestKubeStateMetrics(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	request, _ := certificateRequest(t, "anna")
	objects := c.write("objects.yaml", strings.ReplaceAll(stateMetricsObjects, "{request}", request))
	config := stateMetricsAccount(t, c)
	admin, err := metadata.NewForConfig(c.config())
	if err != nil {
		t.Fatal(err)
	}
	var all []*recordingReflector
	for _, r := range stateMetricsResources {
		for _, streaming := range []bool{true, false} {
			all = append(all, startReflector(t, config, parseGroupVersion(t, r.groupVersion), r.resource, r.kind, streaming))
		}
	}
	each := func(what string, check func(*recordingReflector) error) {
		t.Helper()
		for _, r := range all {
			eventually(t, eventTimeout, func() error {
				if err := check(r); err != nil {
					return fmt.Errorf("%s %s: %w; requests: %s", r, what, err, r.requests())
				}
				return nil
			})
		}
	}
	each("at the start", func(r *recordingReflector) error { return r.expectAll(t.Context(), admin) })
	c.mustKubectl("create", "-f", objects)
	each("after the creation", func(r *recordingReflector) error { return r.expect("added", "") })
	each("after the start of the pod", func(r *recordingReflector) error {
		object, _, err := r.GetByKey("default/watched")
		if pod, ok := object.(*corev1.Pod); ok && (pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName != "n1") {
			return fmt.Errorf("got phase %q and node %q, want Running and n1", pod.Status.Phase, pod.Spec.NodeName)
		}
		return err
	})
	c.mustKubectl("annotate", "-f", objects, "updated=yes")
	each("after the update", func(r *recordingReflector) error { return r.expect("updated", "yes") })
	c.mustKubectl("delete", "-f", objects, "--timeout=100s")
	each("after the deletion", func(r *recordingReflector) error { return r.expect("deleted", "yes") })
	for _, r := range all {
		want := "1 lists, 1 watches, 1 replacements, errors []"
		if r.streaming {
			want = "0 lists, 1 watches, 1 replacements, errors []"
		}
		if got := r.requests(); got != want {
			t.Errorf("%s: got %s, want %s", r, got, want)
		}
	}
}

// stateMetricsAccount returns the client configuration of a service account that may list and watch the resources.
func stateMetricsAccount(t *testing.T, c *cluster) *rest.Config {
	t.Helper()
	rules := map[string][]string{}
	for _, r := range stateMetricsResources {
		group := parseGroupVersion(t, r.groupVersion).Group
		rules[group] = append(rules[group], r.resource)
	}
	var role strings.Builder
	role.WriteString("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: kube-state-metrics}, rules: [")
	for group, resources := range rules {
		fmt.Fprintf(&role, "{apiGroups: [%q], resources: [%s], verbs: [list, watch]}, ", group, strings.Join(resources, ", "))
	}
	role.WriteString("]}")
	c.mustKubectl("create", "-f", c.write("role.yaml", role.String()))
	c.mustKubectl("create", "serviceaccount", "kube-state-metrics", "-n", "kube-system")
	c.mustKubectl("create", "clusterrolebinding", "kube-state-metrics", "--clusterrole=kube-state-metrics", "--serviceaccount=kube-system:kube-state-metrics")
	config := rest.AnonymousClientConfig(c.config())
	config.BearerToken = strings.TrimSpace(c.mustKubectl("create", "token", "kube-state-metrics", "-n", "kube-system"))
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("get of a node by the service account: got error %v, want forbidden", err)
	}
	return config
}

func parseGroupVersion(t *testing.T, text string) schema.GroupVersion {
	t.Helper()
	gv, err := schema.ParseGroupVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return gv
}
