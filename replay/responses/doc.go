// Package responses holds the items of OpenAI's Responses API: messages to items and
// back. The model that speaks the API and the compactor that uses its compaction
// endpoint share it.
//
// An item that this package does not know, such as a compaction item or one of
// reasoning, becomes a message whose content is a marker and which holds the item (see
// [replay.Native]); on the way back the item goes out unchanged.
package responses
