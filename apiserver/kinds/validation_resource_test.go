package kinds

import (
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
)

const opaqueConfig = `"config":[{"opaque":{"driver":"Bad Driver","parameters":{}}}]`

// claim returns a ResourceClaim whose request has these fields.
func claim(fields string) string {
	return `resource.k8s.io/v1 ResourceClaim {"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"` + fields + `}}]}}}`
}

// slice returns a ResourceSlice with these fields.
func slice(fields string) string {
	return `resource.k8s.io/v1 ResourceSlice {"spec":{"driver":"d","nodeName":"n","pool":{"name":"p","resourceSliceCount":1}` + fields + `}}`
}

// TestResourceCreate checks that the rules that are generated into k8s.io/api apply to new objects.
func TestResourceCreate(t *testing.T) {
	template := strings.Replace(claim(`,"tolerations":[{"operator":"Foo"}]`), `Claim {"spec":`, `ClaimTemplate {"spec":{"spec":`, 1) + `}`
	for text, want := range map[string]string{
		claim(``):                                            "",
		claim(`,"tolerations":[{"key":"a"}]`):                "", // the operator has a default
		claim(`,"tolerations":[{"operator":"Foo"}]`):         "spec.devices.requests[0].exactly.tolerations[0].operator",
		claim(`,"tolerations":[{"key":"a","effect":"Bar"}]`): "spec.devices.requests[0].exactly.tolerations[0].effect",
		claim(`,"allocationMode":"Some"`):                    "spec.devices.requests[0].exactly.allocationMode",
		claim(`,"allocationMode":"All","count":1`):           "spec.devices.requests[0].exactly.count",
		template: "spec.spec.devices.requests[0].exactly.tolerations[0].operator",
		`resource.k8s.io/v1 ResourceClaim {"spec":{"devices":{` + opaqueConfig + `}}}`:                                      "spec.devices.config[0].opaque.driver",
		`resource.k8s.io/v1 ResourceClaim {"spec":{"devices":{"constraints":[{"matchAttribute":"a"}]}}}`:                    "spec.devices.constraints[0].matchAttribute",
		`resource.k8s.io/v1 ResourceClaim {"spec":{"devices":{"requests":[` + strings.Repeat(`{},`, 32) + `{}]}}}`:          "spec.devices.requests",
		`resource.k8s.io/v1 ResourceClaim {"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"s"}]}]}}}`: "spec.devices.requests[0].firstAvailable[0].deviceClassName",
		`resource.k8s.io/v1 DeviceClass {"spec":{` + opaqueConfig + `}}`:                                                    "spec.config[0].opaque.driver",
		`resource.k8s.io/v1 DeviceClass {"spec":{"extendedResourceName":"cpu"}}`:                                            "spec.extendedResourceName",
		`resource.k8s.io/v1 DeviceClass {"spec":{"extendedResourceName":"example.com/gpu"}}`:                                "",
		slice(``): "",
		slice(`,"devices":[{"name":"d","attributes":{"a":{"int":1,"bool":true}}}]`): "spec.devices[0].attributes[a]",
		slice(`,"devices":[{"name":"d","taints":[{"key":"k","effect":"Bar"}]}]`):    "spec.devices[0].taints[0].effect",
		slice(`,"partitionTypeAttribute":"a.example/b"`):                            "spec.partitionTypeAttribute",
	} {
		_, got := createObject(t, text)
		if fields := errorFields(got); fields != want {
			t.Errorf("%s: errors of %q, want %q: %s", text, fields, want, got)
		}
	}
}

// errorFields returns the fields of joined errors, without repetitions.
func errorFields(errs string) string {
	var fields []string
	for _, err := range strings.Split(errs, "; ") {
		name, _, _ := strings.Cut(err, ":")
		if len(fields) == 0 || fields[len(fields)-1] != name {
			fields = append(fields, name)
		}
	}
	return strings.Join(fields, ",")
}

// TestResourceUpdate checks that updates are validated where they change something. Objects that an earlier version stored
// stay writable.
func TestResourceUpdate(t *testing.T) {
	class, invalid := `resource.k8s.io/v1 DeviceClass {}`, `resource.k8s.io/v1 DeviceClass {"spec":{`+opaqueConfig+`}}`
	if got := updateObject(t, class, invalid, false); errorFields(got) != "spec.config[0].opaque.driver" {
		t.Errorf("invalid driver: errors %q, want spec.config[0].opaque.driver", got)
	}
	if got := updateObject(t, slice(``), slice(`,"devices":[{"name":"d","bindingConditions":["1","2","3","4","5"]}]`), false); errorFields(got) != "spec.devices[0].bindingConditions" {
		t.Errorf("five binding conditions: errors %q, want spec.devices[0].bindingConditions", got)
	}
	stored, k := decode(t, invalid)
	stored.(*resourcev1.DeviceClass).ResourceVersion = "1"
	labelled := stored.DeepCopyObject().(*resourcev1.DeviceClass)
	labelled.Labels = map[string]string{"a": "b"}
	if got := joinErrors(k.ValidateUpdate(t.Context(), labelled, stored)); got != "" {
		t.Errorf("adding a label to a stored class: errors %q, want none", got)
	}
}

// TestResourceStatusUpdate checks the rules of a claim's status.
func TestResourceStatusUpdate(t *testing.T) {
	allocated := func(result, status string) string {
		return `resource.k8s.io/v1 ResourceClaim {"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"x"` + result + `}]}}` + status + `}}`
	}
	before := `resource.k8s.io/v1 ResourceClaim {}`
	for after, want := range map[string]string{
		allocated(``, ``): "",
		allocated(`,"tolerations":[{"key":"a"}]`, ``):                                                                          "", // the operator has a default
		allocated(`,"tolerations":[{"operator":"Foo"}]`, ``):                                                                   "status.allocation.devices.results[0].tolerations[0].operator",
		allocated(`,"shareID":"a"`, ``):                                                                                        "status.allocation.devices.results[0].shareID",
		allocated(``, `,"reservedFor":[{"uid":"1"},{"uid":"1"}]`):                                                              "status.reservedFor[1]",
		`resource.k8s.io/v1 ResourceClaim {"status":{"reservedFor":[{"uid":"1"}]}}`:                                            "status.reservedFor",
		allocated(``, `,"devices":[{"driver":"d","pool":"p","device":"x","networkData":{"ips":["10.0.0.1/8","10.0.0.1/8"]}}]`): "status.devices[0].networkData.ips[1]",
	} {
		if got := updateObject(t, before, after, true); errorFields(got) != want {
			t.Errorf("%s: errors %q, want %q", after, got, want)
		}
	}
	if got := updateObject(t, allocated(``, ``), allocated(`,"adminAccess":true`, ``), true); errorFields(got) != "status.allocation" {
		t.Errorf("changed allocation: errors %q, want status.allocation", got)
	}
}
