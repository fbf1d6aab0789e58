package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// widgetDefinition uses every feature of a definition except conversion.
const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    schema:
      openAPIV3Schema:
        type: object
        description: A Widget is a test object.
        required: [spec]
        properties:
          spec:
            type: object
            required: [color]
            x-kubernetes-validations:
            - {rule: "self.replicas <= self.max", message: "replicas exceed max"}
            properties:
              color: {type: string, enum: [red, blue]}
              replicas: {type: integer, default: 1}
              max: {type: integer, default: 3}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
          status:
            type: object
            properties: {replicas: {type: integer}, selector: {type: string}}
`

var widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// createDefinition creates a definition and waits until its resource is served.
func createDefinition(t *testing.T, config *rest.Config, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), definition); err != nil {
		t.Fatal(err)
	}
	client := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := client.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: definition.Spec.Group, Version: definition.Spec.Versions[0].Name, Resource: definition.Spec.Names.Plural}
	eventually(t, "the resource is served", func(ctx context.Context) error {
		_, err := dynamic.NewForConfigOrDie(config).Resource(resource).List(ctx, metav1.ListOptions{})
		return err
	})
	return definition
}

// eventually retries check for up to a minute.
func eventually(t *testing.T, condition string, check func(context.Context) error) {
	t.Helper()
	var lastErr error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		lastErr = check(ctx)
		return lastErr == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", condition, lastErr)
	}
}

func newWidget(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// jsonConfig returns a configuration for custom resources, which have no protobuf.
func jsonConfig(server testServer) *rest.Config {
	config := server.LoopbackConfig()
	config.ContentConfig = rest.ContentConfig{}
	return config
}

func TestCustomResources(t *testing.T) {
	server := start(t)
	config := jsonConfig(server)
	definition := createDefinition(t, config, widgetDefinition)
	widgets := dynamic.NewForConfigOrDie(config).Resource(widgetResource).Namespace("default")
	t.Run("defaults and pruning", func(t *testing.T) {
		created, err := widgets.Create(t.Context(), newWidget("a", map[string]any{"color": "red", "unknown": "x"}), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"color": "red", "replicas": int64(1), "max": int64(3)}
		if got := created.Object["spec"].(map[string]any); len(got) != len(want) || got["replicas"] != want["replicas"] || got["max"] != want["max"] {
			t.Errorf("got spec %v, want %v", got, want)
		}
	})
	t.Run("validation", func(t *testing.T) { testCustomValidation(t, widgets) })
	t.Run("subresources", func(t *testing.T) { testCustomSubresources(t, config, widgets) })
	t.Run("table and selectors", func(t *testing.T) { testCustomTable(t, config, widgets) })
	t.Run("server-side apply", func(t *testing.T) { testCustomApply(t, widgets) })
	t.Run("discovery and OpenAPI", func(t *testing.T) { testCustomDiscovery(t, server) })
	t.Run("deletion", func(t *testing.T) {
		client := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
		watch, err := widgets.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Stop()
		if err := client.Delete(t.Context(), definition.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for event := range watch.ResultChan() {
			if event.Type == "DELETED" {
				break
			}
		}
		eventually(t, "the definition and its group are deleted", func(ctx context.Context) error {
			if _, err := client.Get(ctx, definition.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("definition %s: %v, want not found", definition.Name, err)
			}
			if _, err := clientset(t, config).Discovery().ServerResourcesForGroupVersion("example.com/v1"); !apierrors.IsNotFound(err) {
				return fmt.Errorf("example.com/v1 in discovery: %v, want not found", err)
			}
			return nil
		})
	})
}

func testCustomValidation(t *testing.T, widgets dynamic.ResourceInterface) {
	for want, spec := range map[string]map[string]any{
		"replicas exceed max":        {"color": "red", "replicas": int64(4)},
		`Unsupported value: "green"`: {"color": "green"},
		"Required value":             {"replicas": int64(1)},
	} {
		_, err := widgets.Create(t.Context(), newWidget("bad", spec), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("spec %v: got %v, want an error with %q", spec, err, want)
		}
	}
	_, err := widgets.Create(t.Context(), newWidget("strict", map[string]any{"color": "red", "colour": "x"}), metav1.CreateOptions{FieldValidation: "Strict"})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `unknown field "spec.colour"`) {
		t.Errorf("strict field validation: %v, want unknown field spec.colour", err)
	}
}

func testCustomSubresources(t *testing.T, config *rest.Config, widgets dynamic.ResourceInterface) {
	patched, err := widgets.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"status":{"replicas":1,"selector":"app=a"},"spec":{"color":"blue"}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	if color, _, _ := unstructured.NestedString(patched.Object, "spec", "color"); color != "red" {
		t.Errorf("a write to status changed spec.color to %q", color)
	}
	generation := patched.GetGeneration()
	client := clientset(t, config).Discovery().RESTClient()
	path := "/apis/example.com/v1/namespaces/default/widgets/a/scale"
	var scale autoscalingv1.Scale
	data, err := client.Patch(types.MergePatchType).AbsPath(path).Body([]byte(`{"spec":{"replicas":2}}`)).DoRaw(t.Context())
	if err == nil {
		err = json.Unmarshal(data, &scale)
	}
	if err != nil || scale.Spec.Replicas != 2 || scale.Status.Selector != "app=a" {
		t.Errorf("scale: got %+v and error %v, want 2 replicas and the selector app=a", scale, err)
	}
	scaled, err := widgets.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _, _ := unstructured.NestedInt64(scaled.Object, "spec", "replicas"); replicas != 2 || scaled.GetGeneration() != generation+1 {
		t.Errorf("after scale: got %d replicas and generation %d, want 2 and %d", replicas, scaled.GetGeneration(), generation+1)
	}
}

func testCustomTable(t *testing.T, config *rest.Config, widgets dynamic.ResourceInterface) {
	if _, err := widgets.Create(t.Context(), newWidget("b", map[string]any{"color": "blue"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := widgets.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.color=blue"})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != "b" {
		t.Errorf("list with a field selector: got %v and error %v, want b", list, err)
	}
	data, err := clientset(t, config).Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1/namespaces/default/widgets").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	var columns []string
	for i := range table.ColumnDefinitions {
		columns = append(columns, table.ColumnDefinitions[i].Name)
	}
	if want := []string{"Name", "Color", "Replicas"}; !slices.Equal(columns, want) || len(table.Rows) != 2 {
		t.Errorf("got columns %v with %d rows, want %v with 2 rows", columns, len(table.Rows), want)
	}
}

func testCustomApply(t *testing.T, widgets dynamic.ResourceInterface) {
	applyPort := func(manager, name string) error {
		w := newWidget("applied", map[string]any{"color": "red", "ports": []any{map[string]any{"name": name, "port": int64(1)}}})
		_, err := widgets.Apply(t.Context(), "applied", w, metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	if err := applyPort("one", "http"); err != nil {
		t.Fatal(err)
	}
	if err := applyPort("two", "https"); err != nil {
		t.Fatal(err)
	}
	merged, err := widgets.Get(t.Context(), "applied", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ports, _, _ := unstructured.NestedSlice(merged.Object, "spec", "ports"); len(ports) != 2 {
		t.Errorf("got ports of two managers %v, want both", ports)
	}
	_, err = widgets.Apply(t.Context(), "applied", newWidget("applied", map[string]any{"color": "blue"}), metav1.ApplyOptions{FieldManager: "three"})
	if !apierrors.IsConflict(err) {
		t.Errorf("change of color by a third manager: %v, want a conflict", err)
	}
}

func testCustomDiscovery(t *testing.T, server testServer) {
	client := clientset(t, jsonConfig(server)).Discovery()
	list, err := client.ServerResourcesForGroupVersion("example.com/v1")
	if err != nil || len(list.APIResources) != 3 || list.APIResources[0].ShortNames[0] != "wd" {
		t.Errorf("resources of example.com/v1: got %+v and error %v, want 3 with short name wd", list, err)
	}
	eventually(t, "aggregated and plain discovery list the group", func(context.Context) error {
		for _, legacy := range []bool{false, true} {
			var d discovery.DiscoveryInterface = client
			if legacy {
				d = d.WithLegacy()
			}
			groups, err := d.ServerGroups()
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "example.com" }) {
				return fmt.Errorf("no group example.com (without aggregation: %v)", legacy)
			}
		}
		return nil
	})
	for path, want := range map[string][]string{
		"/openapi/v3/apis/example.com/v1": {"A Widget is a test object."},
		"/openapi/v2":                     {"com.example.v1.Widget", "io.k8s.api.core.v1.PodSpec", "/api/v1/namespaces/{namespace}/pods/{name}"},
		"/openapi/v3":                     {"apis/example.com/v1"},
	} {
		eventually(t, path, func(ctx context.Context) error {
			data, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
			for _, text := range want {
				if err == nil && !strings.Contains(string(data), text) {
					err = fmt.Errorf("%s lacks %q", path, text)
				}
			}
			return err
		})
	}
}
