package v1alpha1

// modelPrefix is the prefix of the type names in the OpenAPI document.
const modelPrefix = "dev.berth.v1alpha1."

// OpenAPIModelName returns the type's name in the OpenAPI document.
func (Hold) OpenAPIModelName() string { return modelPrefix + "Hold" }

// OpenAPIModelName returns the type's name in the OpenAPI document.
func (HoldList) OpenAPIModelName() string { return modelPrefix + "HoldList" }

// OpenAPIModelName returns the type's name in the OpenAPI document.
func (HoldSpec) OpenAPIModelName() string { return modelPrefix + "HoldSpec" }

// OpenAPIModelName returns the type's name in the OpenAPI document.
func (Owner) OpenAPIModelName() string { return modelPrefix + "Owner" }

// OpenAPIModelName returns the type's name in the OpenAPI document.
func (Victim) OpenAPIModelName() string { return modelPrefix + "Victim" }

// OpenAPIModelName returns the type's name in the OpenAPI document.
func (HostPort) OpenAPIModelName() string { return modelPrefix + "HostPort" }
