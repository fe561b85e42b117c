// Pending events in time order, with cancellation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/contracts.h"
#include "sim/engine/event_key.h"

namespace foretrain {

/// Names one pending event. Stays harmless after the event left the queue: `contains` is then
/// false.
struct EventHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: names no event
  bool operator==(const EventHandle&) const = default;
};

/// Priority queue of events: an indexed 4-ary heap over recycled slots.
///
/// push, pop, cancel and reschedule take O(log n) comparisons, top and contains O(1). Memory grows
/// to the largest number of events that were ever pending and is then reused: no heap allocation
/// per event. A 4-ary heap is half as deep as a binary one, and four children share a cache line or
/// two.
/// @source LaMarca and Ladner, ACM J. Experimental Algorithmics 1 (1996).
template <class Payload>
class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  void reserve(std::size_t num_events) {
    heap_.reserve(num_events);
    slots_.reserve(num_events);
  }

  /// Adds an event. @pre no pending event has an equal key (else their order is not defined).
  EventHandle push(const EventKey& key, Payload payload) {
    const std::uint32_t slot = take_slot();
    slots_[slot].payload = std::move(payload);
    heap_.push_back({key, slot});
    sift_up(heap_.size() - 1);
    return {slot, slots_[slot].generation};
  }

  /// Key of the first event. @pre not empty.
  [[nodiscard]] const EventKey& top_key() const {
    FORETRAIN_EXPECTS(!heap_.empty(), "no event is pending");
    return heap_.front().key;
  }
  /// Payload of the first event. @pre not empty.
  [[nodiscard]] const Payload& top() const {
    FORETRAIN_EXPECTS(!heap_.empty(), "no event is pending");
    return slots_[heap_.front().slot].payload;
  }

  /// Removes and returns the payload of the first event. @pre not empty.
  Payload pop() {
    FORETRAIN_EXPECTS(!heap_.empty(), "no event is pending");
    return remove_at(0);
  }

  [[nodiscard]] bool contains(EventHandle handle) const {
    return handle.generation != 0 && handle.slot < slots_.size() &&
           slots_[handle.slot].generation == handle.generation;
  }

  /// Key of a pending event. @pre contains(handle).
  [[nodiscard]] const EventKey& key(EventHandle handle) const {
    FORETRAIN_EXPECTS(contains(handle), "event is not pending");
    return heap_[slots_[handle.slot].position].key;
  }

  /// Removes a pending event; false if it already left the queue.
  bool cancel(EventHandle handle) {
    if (!contains(handle)) return false;
    remove_at(slots_[handle.slot].position);
    return true;
  }

  /// Moves a pending event to another place in the order. @pre contains(handle).
  void reschedule(EventHandle handle, const EventKey& key) {
    FORETRAIN_EXPECTS(contains(handle), "event is not pending");
    const std::size_t position = slots_[handle.slot].position;
    heap_[position].key = key;
    if (!sift_up(position)) sift_down(position);
  }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::uint32_t kNoSlot = 0xffffffffU;

  struct Node {
    EventKey key;
    std::uint32_t slot;
  };
  struct Slot {
    Payload payload{};
    std::uint32_t position = 0;    // in heap_; next free slot while unused
    std::uint32_t generation = 1;  // grows whenever the slot is given back
  };

  std::uint32_t take_slot() {
    if (first_free_ == kNoSlot) {
      FORETRAIN_EXPECTS(slots_.size() < kNoSlot, "too many pending events");
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = first_free_;
    first_free_ = slots_[slot].position;
    return slot;
  }

  Payload remove_at(std::size_t position) {
    const std::uint32_t slot = heap_[position].slot;
    Payload payload = std::move(slots_[slot].payload);
    if (++slots_[slot].generation == 0) slots_[slot].generation = 1;
    slots_[slot].position = first_free_;
    first_free_ = slot;
    const Node last = heap_.back();
    heap_.pop_back();
    if (position < heap_.size()) {
      place(position, last);
      if (!sift_up(position)) sift_down(position);
    }
    return payload;
  }

  void place(std::size_t position, const Node& node) {
    heap_[position] = node;
    slots_[node.slot].position = static_cast<std::uint32_t>(position);
  }

  /// True if the node moved.
  bool sift_up(std::size_t position) {
    const Node node = heap_[position];
    const std::size_t start = position;
    while (position > 0) {
      const std::size_t parent = (position - 1) / kArity;
      if (!(node.key < heap_[parent].key)) break;
      place(position, heap_[parent]);
      position = parent;
    }
    place(position, node);
    return position != start;
  }

  void sift_down(std::size_t position) {
    const Node node = heap_[position];
    while (true) {
      const std::size_t first = position * kArity + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = first + kArity < heap_.size() ? first + kArity : heap_.size();
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].key < heap_[least].key) least = child;
      }
      if (!(heap_[least].key < node.key)) break;
      place(position, heap_[least]);
      position = least;
    }
    place(position, node);
  }

  std::vector<Node> heap_;
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNoSlot;
};

}  // namespace foretrain
