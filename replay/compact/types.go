package compact

import "reflect"

// ContractVersion is the version of the object that a foreign compactor reads.
const ContractVersion = contractVersion

// ContractTypes are the types of the object that a foreign compactor reads and of the one
// that it answers, for their schemas.
func ContractTypes() (request, answer reflect.Type) {
	return reflect.TypeFor[contractInput](), reflect.TypeFor[contractOutput]()
}
