package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/zeebo/xxh3"
)

// Key names a blob in a store.
type Key [16]byte

// KeyOf is the key of what something names; kind keeps apart what is of different kinds.
func KeyOf(kind string, name []byte) Key {
	hash := sha256.New()
	hash.Write([]byte(kind + "\x00"))
	hash.Write(name)
	return Key(hash.Sum(nil)[:len(Key{})])
}

// skippable is the magic number of a skippable frame of the Zstandard format, RFC 8878,
// section 3.1.2; its last four bits are free.
const skippable = 0x184D2A5D

// The head of a record: the frame's magic and size, then the key, the length of the blob's
// frame, the time in seconds since 1970, the hash of the blob's frame and that of the
// head itself.
const (
	headFrame = 4 + 4
	headSize  = headFrame + 16 + 4 + 8 + 8 + 8
)

// head is what stands before a blob. A record without a blob notes that one was used.
type head struct {
	key    Key
	length uint32 // of the blob's frame, in bytes
	at     int64  // nanoseconds since 1970
	hash   uint64 // of the blob's frame
}

// append writes the head behind b.
func (h *head) append(b []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, skippable)
	b = binary.LittleEndian.AppendUint32(b, headSize-headFrame)
	b = append(b, h.key[:]...)
	b = binary.LittleEndian.AppendUint32(b, h.length)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.at))
	b = binary.LittleEndian.AppendUint64(b, h.hash)
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b[start:]))
}

// parseHead reads a head, and says whether it is one.
func parseHead(b []byte) (h head, ok bool) {
	if len(b) < headSize || binary.LittleEndian.Uint32(b) != skippable || binary.LittleEndian.Uint32(b[4:]) != headSize-headFrame {
		return h, false
	}
	const sum = headSize - 8
	if binary.LittleEndian.Uint64(b[sum:]) != xxh3.Hash(b[:sum]) {
		return h, false
	}
	b = b[headFrame:]
	copy(h.key[:], b)
	h.length = binary.LittleEndian.Uint32(b[16:])
	h.at = int64(binary.LittleEndian.Uint64(b[20:]))
	h.hash = binary.LittleEndian.Uint64(b[28:])
	return h, true
}

// window reads a file piece by piece, so that many small reads are few large ones.
type window struct {
	file  io.ReaderAt
	buf   []byte
	start int64
}

// at returns n bytes from an offset, or fewer where the file ends.
func (w *window) at(offset int64, n int) ([]byte, error) {
	if offset < w.start || offset+int64(n) > w.start+int64(len(w.buf)) {
		const piece = 1 << 16
		if cap(w.buf) == 0 {
			w.buf = make([]byte, piece)
		}
		read, err := w.file.ReadAt(w.buf[:cap(w.buf)], offset)
		w.buf, w.start = w.buf[:read], offset
		if err != nil && err != io.EOF {
			return nil, err
		}
	}
	from := w.buf[offset-w.start:]
	return from[:min(n, len(from))], nil
}

// scan tells of the whole records of a file of that size from an offset on, and returns
// where the last of them ends. What is damaged between them is passed over.
func scan(file io.ReaderAt, from, size int64, tell func(h head, offset int64)) (int64, error) {
	w := window{file: file}
	end := from
	for from < size {
		b, err := w.at(from, headSize)
		if err != nil {
			return end, err
		}
		h, ok := parseHead(b)
		if next := from + headSize + int64(h.length); ok && next <= size {
			tell(h, from+headSize)
			from, end = next, next
			continue
		}
		if from, err = w.seek(from+1, size); err != nil {
			return end, err
		}
	}
	return end, nil
}

// seek finds where the next head may begin, or returns the size where none does.
func (w *window) seek(from, size int64) (int64, error) {
	magic := binary.LittleEndian.AppendUint32(nil, skippable)
	for from < size {
		const piece = 1 << 12
		b, err := w.at(from, piece)
		if err != nil || len(b) < len(magic) {
			return size, err
		}
		if i := bytes.Index(b, magic); i >= 0 {
			return from + int64(i), nil
		}
		from += int64(len(b) - len(magic) + 1)
	}
	return size, nil
}
