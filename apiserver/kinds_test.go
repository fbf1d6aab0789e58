package apiserver_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/kinds"
)

const template = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"app:1"}]}}`

const neverMatches = `{"resourceRules":[{"apiGroups":["example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["never"]}]}`

// content is the minimal content of an object of a kind, besides its name.
var content = map[string]string{
	"Pod":                              `{"spec":{"containers":[{"name":"c","image":"app:1"}]}}`,
	"PodTemplate":                      `{"template":` + template + `}`,
	"Deployment":                       `{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}}`,
	"ReplicaSet":                       `{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}}`,
	"StatefulSet":                      `{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}}`,
	"DaemonSet":                        `{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}}`,
	"ReplicationController":            `{"spec":{"selector":{"a":"b"},"template":` + template + `}}`,
	"ControllerRevision":               `{"revision":1,"data":{}}`,
	"Job":                              `{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"app:1"}]}}}}`,
	"CronJob":                          `{"spec":{"schedule":"0 0 * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"app:1"}]}}}}}}`,
	"Service":                          `{"spec":{"ports":[{"port":80}]}}`,
	"EndpointSlice":                    `{"addressType":"IPv4","endpoints":[]}`,
	"PersistentVolume":                 `{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`,
	"PersistentVolumeClaim":            `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
	"StorageClass":                     `{"provisioner":"example.com/p"}`,
	"CSINode":                          `{"spec":{"drivers":[]}}`,
	"CSIDriver":                        `{"spec":{}}`,
	"CSIStorageCapacity":               `{"storageClassName":"s"}`,
	"VolumeAttachment":                 `{"spec":{"attacher":"example.com","nodeName":"n","source":{"persistentVolumeName":"v"}}}`,
	"PriorityClass":                    `{"value":5}`,
	"Hold":                             `{"spec":{"type":"Avoid","owner":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u"},"node":"n1","cause":"Pressure","until":"2030-01-01T00:00:00Z"}}`,
	"RuntimeClass":                     `{"handler":"h"}`,
	"ResourceClaim":                    `{"spec":{}}`,
	"ResourceClaimTemplate":            `{"spec":{"spec":{}}}`,
	"ResourceSlice":                    `{"spec":{"driver":"d.example.com","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1}}}`,
	"DeviceClass":                      `{"spec":{}}`,
	"RoleBinding":                      `{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}`,
	"ClusterRoleBinding":               `{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}`,
	"ValidatingAdmissionPolicy":        `{"spec":{"matchConstraints":` + neverMatches + `,"validations":[{"expression":"true"}]}}`,
	"MutatingAdmissionPolicy":          `{"spec":{"matchConstraints":` + neverMatches + `,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \"remove\", path: \"/x\"}]"}}]}}`,
	"ValidatingAdmissionPolicyBinding": `{"spec":{"policyName":"x","validationActions":["Deny"]}}`,
	"MutatingAdmissionPolicyBinding":   `{"spec":{"policyName":"x"}}`,
	"FlowSchema":                       `{"spec":{"priorityLevelConfiguration":{"name":"global-default"}}}`,
	"PriorityLevelConfiguration":       `{"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}}`,
	"Ingress":                          `{"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`,
	"IngressClass":                     `{"spec":{"controller":"example.com/c"}}`,
	"NetworkPolicy":                    `{"spec":{"podSelector":{}}}`,
	"ServiceCIDR":                      `{"spec":{"cidrs":["10.1.0.0/16"]}}`,
	"IPAddress":                        `{"metadata":{"name":"10.1.0.1"},"spec":{"parentRef":{"resource":"services","namespace":"default","name":"s"}}}`,
	"VolumeAttributesClass":            `{"driverName":"example.com","parameters":{"a":"b"}}`,
	"HorizontalPodAutoscaler":          `{"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}`,
	"CertificateSigningRequest":        certificateRequest(),
	"LimitRange":                       `{"spec":{"limits":[]}}`,
	"ResourceQuota":                    `{"spec":{"hard":{"pods":"100"}}}`,
}

// certificateRequest returns the content of a CertificateSigningRequest.
func certificateRequest() string {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "u"}}, key)
	if err != nil {
		panic(err)
	}
	request := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return fmt.Sprintf(`{"spec":{"signerName":"example.com/s","usages":["client auth"],"request":%q}}`, base64.StdEncoding.EncodeToString(request))
}

// groupContent has the content of kinds whose name exists in several groups.
var groupContent = map[schema.GroupKind]string{
	{Kind: "Event"}: `{"involvedObject":{"namespace":"default","kind":"Pod","name":"p"},"reason":"R","message":"m","type":"Normal"}`,
	{Group: "events.k8s.io", Kind: "Event"}: `{"regarding":{"namespace":"default","kind":"Pod","name":"p"},"reason":"R","action":"A","type":"Normal",` +
		`"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"example.com/c","reportingInstance":"i"}`,
}

// fixture returns a minimal valid object of the kind.
func fixture(k kinds.Kind) *unstructured.Unstructured {
	object := map[string]any{}
	text := groupContent[k.GroupVersionKind().GroupKind()]
	if text == "" {
		text = content[k.Kind]
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			panic(err)
		}
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(k.GroupVersionKind())
	if u.GetName() == "" {
		u.SetName("x-" + strings.ToLower(k.Kind))
	}
	return u
}

// withoutServiceAccounts disables the plugin ServiceAccount: no controller creates the accounts.
func withoutServiceAccounts(o *apiserver.Options) {
	o.DisableAdmissionPlugins = append(o.DisableAdmissionPlugins, "ServiceAccount")
}

func TestEveryKindServesVerbs(t *testing.T) {
	server := start(t, withoutServiceAccounts)
	client, err := dynamic.NewForConfig(server.LoopbackConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds.All() {
		if k.Virtual {
			continue
		}
		t.Run(k.Resource+"."+k.GroupVersion.String(), func(t *testing.T) {
			var resource dynamic.ResourceInterface = client.Resource(k.GroupVersion.WithResource(k.Resource))
			if k.Namespaced {
				resource = client.Resource(k.GroupVersion.WithResource(k.Resource)).Namespace("default")
			}
			testVerbs(t, k, resource)
		})
	}
}

func testVerbs(t *testing.T, k kinds.Kind, resource dynamic.ResourceInterface) {
	ctx, object := t.Context(), fixture(k)
	created, err := resource.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	events, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: created.GetResourceVersion(), FieldSelector: "metadata.name=" + created.GetName()})
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	defer events.Stop()
	if _, err := resource.Create(ctx, object, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("create of an existing object: %v, want already exists", err)
	}
	label := []byte(`{"metadata":{"labels":{"l":"1"}}}`)
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		if _, err := resource.Patch(ctx, created.GetName(), kind, label, metav1.PatchOptions{}); err != nil {
			t.Errorf("patch %s: %v", kind, err)
		}
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	applied.SetGroupVersionKind(k.GroupVersionKind())
	applied.SetName(created.GetName())
	applied.SetLabels(map[string]string{"applied": "1"})
	if _, err := resource.Apply(ctx, created.GetName(), applied, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Errorf("apply: %v", err)
	}
	current, err := resource.Get(ctx, created.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	if got := current.GetLabels(); got["l"] != "1" || got["applied"] != "1" {
		t.Errorf("got labels %v, want l and applied", got)
	}
	current.SetAnnotations(map[string]string{"updated": "1"})
	if _, err := resource.Update(ctx, current, metav1.UpdateOptions{}); err != nil {
		t.Errorf("update: %v", err)
	}
	listAndDelete(t, resource, created.GetName())
	waitForEvent(t, events, watch.Modified)
}

func listAndDelete(t *testing.T, resource dynamic.ResourceInterface, name string) {
	ctx := t.Context()
	list, err := resource.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("list: got %v and error %v, want 1 object", list, err)
	}
	if kind := list.Items[0].GetKind(); list.GetKind() == "" || kind == "" {
		t.Errorf("got a list of kind %q with items of kind %q, want both set", list.GetKind(), kind)
	}
	if err := resource.Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("delete, dry run: %v", err)
	}
	if _, err := resource.Get(ctx, name, metav1.GetOptions{}); err != nil {
		t.Errorf("get after a dry run: %v", err)
	}
	if err := resource.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// waitForEvent waits for an event of the given type.
func waitForEvent(t *testing.T, events watch.Interface, want watch.EventType) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case event, ok := <-events.ResultChan():
			if !ok {
				t.Fatalf("the watch ended before an event of type %s", want)
			}
			if event.Type == want {
				return
			}
		case <-deadline:
			t.Fatalf("no event of type %s in a minute", want)
		}
	}
}

// TestStoredOnlyWarning checks that creating an object of each stored-only kind returns a warning unless StoredOnlyWarnings is
// off.
func TestStoredOnlyWarning(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		server := start(t, func(o *apiserver.Options) { o.StoredOnlyWarnings = enabled }, withoutServiceAccounts)
		for _, k := range kinds.All() {
			if !k.StoredOnly {
				continue
			}
			var texts []string
			config := server.LoopbackConfig()
			config.WarningHandler = warnings(func(text string) { texts = append(texts, text) })
			client, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			var resource dynamic.ResourceInterface = client.Resource(k.GroupVersion.WithResource(k.Resource))
			if k.Namespaced {
				resource = client.Resource(k.GroupVersion.WithResource(k.Resource)).Namespace("default")
			}
			if _, err := resource.Create(t.Context(), fixture(k), metav1.CreateOptions{}); err != nil {
				t.Errorf("creating the fixture of %s: %v", k.Kind, err)
			}
			want := k.Kind + " is stored, but no controller acts on it in this release"
			if slices.Contains(texts, want) != enabled {
				t.Errorf("StoredOnlyWarnings %v: got warnings %q, want %q in them: %t", enabled, texts, want, enabled)
			}
		}
		server.stop()
	}
}

// warnings is a warning handler that calls the function with each text.
type warnings func(string)

func (w warnings) HandleWarningHeader(_ int, _, text string) { w(text) }

var _ rest.WarningHandler = warnings(nil)
