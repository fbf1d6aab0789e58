package v1alpha1

// The names of the types in the OpenAPI document.
const modelPrefix = "dev.berth.v1alpha1."

// OpenAPIModelName is the type's name in the OpenAPI document.
func (Hold) OpenAPIModelName() string { return modelPrefix + "Hold" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (HoldList) OpenAPIModelName() string { return modelPrefix + "HoldList" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (HoldSpec) OpenAPIModelName() string { return modelPrefix + "HoldSpec" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (Owner) OpenAPIModelName() string { return modelPrefix + "Owner" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (Victim) OpenAPIModelName() string { return modelPrefix + "Victim" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (HostPort) OpenAPIModelName() string { return modelPrefix + "HostPort" }
