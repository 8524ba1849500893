package openai

// readByModel are the members of a request that the model reads, whatever their type.
var readByModel = map[string]bool{
	"messages": true, "prompt": true, "input": true, "instructions": true, "system": true, "suffix": true,
	"tools": true, "functions": true, "query": true, "documents": true, "texts": true, "text_1": true, "text_2": true, "text_input": true,
}

// ReadByModel reports whether a member of a request is text for the model: the prompt or a part of the
// prompt. Other members are parameters, such as the temperature.
func ReadByModel(member string) bool { return readByModel[member] }
