package kinds

import (
	"strings"
	"testing"
)

// TestAutoscalerValidation validates new HorizontalPodAutoscalers. The errors are those of kube-apiserver.
func TestAutoscalerValidation(t *testing.T) {
	spec := func(content string) string {
		return `autoscaling/v2 HorizontalPodAutoscaler {"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}` + content + `}}`
	}
	metric := func(content string) string { return spec(`,"metrics":[{` + content + `}]`) }
	up := func(content string) string { return spec(`,"behavior":{"scaleUp":{` + content + `}}`) }
	for text, want := range map[string]string{
		spec(``):                 "",
		spec(`,"minReplicas":0`): "spec.minReplicas: must be greater than or equal to 1",
		spec(`,"minReplicas":4`): "spec.maxReplicas: must be greater than or equal to `minReplicas`",
		spec(`,"maxReplicas":0`): "spec.maxReplicas: must be greater than 0; spec.maxReplicas: must be greater than or equal to `minReplicas`",
		spec(`,"scaleTargetRef":{"kind":"","name":"a/b"}`): "spec.scaleTargetRef.kind: ; spec.scaleTargetRef.name: may not contain '/'",
		spec(`,"scaleTargetRef":{"apiVersion":"a/b/c"}`):   "spec.scaleTargetRef.apiVersion: unexpected GroupVersion string: a/b/c",
		metric(`"type":"x"`):                               `spec.metrics[0].type: supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
		metric(`"type":""`):                                "spec.metrics[0].type: must specify a metric source type",
		metric(`"type":"Pods"`):                            "spec.metrics[0].pods: must populate information for the given metric source",
		metric(`"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization"}}`): "spec.metrics[0].resource.target.averageUtilization: must set either a target raw value or a target utilization",
		metric(`"type":"Resource","resource":{"target":{"type":"x","averageUtilization":0}}`): "spec.metrics[0].resource.name: must specify a resource name; " +
			"spec.metrics[0].resource.target.type: must be either Utilization, Value, or AverageValue; spec.metrics[0].resource.target.averageUtilization: must be greater than 0",
		metric(`"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5,"averageValue":"1"}}`):                                                                 "spec.metrics[0].resource.target.averageValue: may not set both a target raw value and a target utilization",
		metric(`"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}},"pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}`): "spec.metrics[0].pods: must populate the given metric source only",
		metric(`"type":"ContainerResource","containerResource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}}`):                                                                  "spec.metrics[0].containerResource.container: must specify a container",
		metric(`"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue"}}`):                                                                                                         "spec.metrics[0].pods.target.averageValue: must specify a positive target averageValue",
		metric(`"type":"External","external":{"metric":{"name":""},"target":{"type":"Value","value":"1"}}`):                                                                                             "spec.metrics[0].external.metric.name: must specify a metric name",
		metric(`"type":"Object","object":{"describedObject":{"kind":"k","name":"n"},"metric":{"name":"m"},"target":{"type":"Value"}}`):                                                                  "spec.metrics[0].object.target.averageValue: must set either a target value for metric or a per-pod target",
		up(`"stabilizationWindowSeconds":3601`):                        "spec.behavior.scaleUp.stabilizationWindowSeconds: must be less than or equal to 3600",
		up(`"selectPolicy":"x"`):                                       `spec.behavior.scaleUp.selectPolicy: supported values: "Disabled", "Max", "Min"`,
		up(`"policies":[]`):                                            "spec.behavior.scaleUp.policies: must specify at least one Policy",
		up(`"policies":[{"type":"x","value":0,"periodSeconds":1801}]`): `spec.behavior.scaleUp.policies[0].type: supported values: "Percent", "Pods"; spec.behavior.scaleUp.policies[0].value: must be greater than zero; spec.behavior.scaleUp.policies[0].periodSeconds: must be less than or equal to 1800`,
		up(`"tolerance":"-1"`):                                         "spec.behavior.scaleUp.tolerance: must be greater than or equal to 0",
	} {
		if _, got := createObject(t, text); got != want {
			t.Errorf("%s\n got %q\n want %q", text, got, want)
		}
	}
	valid := spec(``)
	if got := updateObject(t, valid, strings.Replace(valid, `"maxReplicas":3`, `"maxReplicas":0`, 1), false); !strings.Contains(got, "must be greater than 0") {
		t.Errorf("update: got %q, want an error about maxReplicas", got)
	}
	if got := updateObject(t, valid, strings.TrimSuffix(valid, "}")+`,"status":{"currentReplicas":-1}}`, true); !strings.Contains(got, "status.currentReplicas") {
		t.Errorf("status update: got %q, want an error about currentReplicas", got)
	}
}
