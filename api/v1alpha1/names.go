package v1alpha1

// The names of the types in the OpenAPI document.
const model = "dev.berth.v1alpha1."

// OpenAPIModelName is the type's name in the OpenAPI document.
func (Hold) OpenAPIModelName() string { return model + "Hold" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (HoldList) OpenAPIModelName() string { return model + "HoldList" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (HoldSpec) OpenAPIModelName() string { return model + "HoldSpec" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (Owner) OpenAPIModelName() string { return model + "Owner" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (Victim) OpenAPIModelName() string { return model + "Victim" }

// OpenAPIModelName is the type's name in the OpenAPI document.
func (HostPort) OpenAPIModelName() string { return model + "HostPort" }
