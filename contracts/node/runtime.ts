// ---- appending ----

/** Appends events to the outboxes of the catalog above, in the caller's own transactions. */
export class Outbox {
  readonly #db: Firestore;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false, ownProperties: true, code: { regExp: asTheRelay } });

  constructor(db: Firestore) {
    this.#db = db;
    this.#ajv.removeKeyword('multipleOf').addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', validate: multipleOf });
    for (const [name, schema] of Object.entries(catalog.schemas)) this.#ajv.addSchema(schema as AnySchema, scheme + name);
  }

  /**
   * Appends events in tx, which must not have written yet. It reads each record's document first, and creates those that are not there.
   * An InvalidError or a CollisionError comes before anything is written; let it end the transaction.
   */
  async append(tx: Transaction, ...events: Event[]): Promise<Result[]> {
    const prepared = await this.prepare(tx, ...events);
    prepared.write(tx);
    return prepared.results;
  }

  /** The first half of append, all that reads. The second is write, which is called once, in the same attempt of the transaction. */
  async prepare(tx: Transaction, ...events: Event[]): Promise<Prepared> {
    const records = this.records(...events);
    const results = await this.#look(records, (refs) => tx.getAll(...refs));
    const given = new Set<string>();
    const missing = records.filter((record, i) => {
      const again = given.has(record.ref.path);
      given.add(record.ref.path);
      if (again) results[i]!.repeated = true;
      return !results[i]!.repeated;
    });
    return { results, write: (tx) => missing.forEach((record) => tx.create(record.ref, record.data)) };
  }

  /**
   * Checks events and returns a record for each, to be written by create of a transaction, a batch or a BulkWriter: nothing is read or
   * written here. A repeat fails the commit with ALREADY_EXISTS; compare tells why.
   */
  records(...events: Event[]): OutboxRecord[] {
    const rejected: InvalidEvent[] = [];
    const records: OutboxRecord[] = [];
    let size = 0;
    events.forEach((event, index) => {
      const draft = this.#accept(event);
      if (draft.faults.length > 0) {
        rejected.push({ index, type: String(event.type), outbox: draft.outbox, faults: draft.faults });
        return;
      }
      records.push(draft.record!);
      const before = size;
      size += draft.size + overheadEach;
      if (size > maxTransaction && before <= maxTransaction) {
        const problem = `makes the events together larger than the ${maxTransaction} bytes of a commit`;
        rejected.push({ index, type: event.type, outbox: draft.outbox, faults: [{ field: '', problem }] });
      }
    });
    if (rejected.length > 0) throw new InvalidError(rejected, events.length);
    const first = new Map<string, OutboxRecord>();
    const collisions: Collision[] = [];
    records.forEach((record, index) => {
      const earlier = first.get(record.ref.path);
      const fields = earlier ? differences(earlier.data, record.data) : [];
      if (fields.length > 0) collisions.push({ index, document: record.ref.path, differs: fields });
      first.set(record.ref.path, earlier ?? record);
    });
    if (collisions.length > 0) throw new CollisionError(collisions);
    return records;
  }

  /** Tells which records stand in their outboxes, after a commit that failed with ALREADY_EXISTS. Throws a CollisionError for another event. */
  async compare(...records: OutboxRecord[]): Promise<Result[]> {
    return this.#look(records, (refs) => this.#db.getAll(...refs));
  }

  async #look(records: OutboxRecord[], getAll: (refs: DocumentReference[]) => Promise<DocumentSnapshot[]>): Promise<Result[]> {
    if (records.length === 0) return [];
    const refs = [...new Map(records.map((record) => [record.ref.path, record.ref])).values()];
    const found = new Map((await getAll(refs)).map((doc) => [doc.ref.path, doc]));
    const collisions: Collision[] = [];
    const results = records.map((record, index): Result => {
      const stored = found.get(record.ref.path)?.data();
      const { eventId, traceId, idempotencyKey } = stored ?? record.data;
      const differs = stored ? differences(stored, record.data) : [];
      if (differs.length > 0) collisions.push({ index, document: record.ref.path, differs });
      return { ref: record.ref, idempotencyKey, repeated: stored !== undefined, eventId, traceId };
    });
    if (collisions.length > 0) throw new CollisionError(collisions);
    return results;
  }

  // accept makes the record of an event, or names its faults.
  #accept(event: Event): Draft {
    const faults: Fault[] = [];
    const fault = (field: string, problem: string) => void faults.push({ field, problem });
    const payload = plain(event.payload, 'payload', fault, 1) as Fields | undefined;
    if (payload === undefined && faults.length === 0) fault('payload', 'is missing');
    else if (faults.length === 0 && !isObject(payload)) fault('payload', `is ${named(payload)}, want an object`);
    const payloadSound = faults.length === 0;
    faults.sort((a, b) => (a.field + a.problem < b.field + b.problem ? -1 : 1));

    const name = outboxOf(event, fault);
    const box = name !== undefined && Object.hasOwn(catalog.outboxes, name) ? catalog.outboxes[name] : undefined;
    if (name === undefined || box === undefined) {
      if (name !== undefined) fault('', `lies in outbox ${quoted(name)}, which the catalog does not declare`);
      return { faults, outbox: name ?? '', size: 0 };
    }
    const versions = routesOf(box, event.type);
    const declared = event.version === undefined ? versions[0] : versions.find((r) => r.version === 0 || r.version === event.version);
    const route = declared ?? (versions.length === 1 ? versions[0] : undefined); // by which the rest is judged
    if (versions.length === 0) fault('eventType', `is ${quoted(event.type)}, which ${name} does not declare`);
    else if (!declared) fault('eventVersion', `is ${event.version}, want ${versions.map((r) => r.version).reverse().join(' or ')} as the catalog declares`);
    const eventVersion = event.version ?? (route?.version || 1);
    if (!Number.isSafeInteger(eventVersion) || eventVersion < 1) fault('eventVersion', `is ${eventVersion}, want 1 or more`);

    const schemaFaults = payloadSound && route?.schema ? this.#schemaFaults(route.schema, payload!) : [];
    // What a template lacks in a payload that is not sound is not to blame.
    const lacks: Report = payloadSound && schemaFaults.length === 0 ? fault : () => undefined;
    const { aggregateVersion } = event;
    const made = route?.aggregate && filled(route.aggregate, { eventType: event.type, eventVersion, aggregateVersion }, payload, lacks);
    const aggregateId = event.aggregateId ?? made!;
    if (made && made !== aggregateId && lacks === fault) fault('aggregateId', `is not ${route!.aggregate}`);
    if (typeof aggregateId !== 'string') fault('aggregateId', `is ${named(aggregateId)}, want a string`);
    else if (aggregateId === '') fault('aggregateId', 'is empty');
    if (!Number.isSafeInteger(aggregateVersion)) fault('aggregateVersion', 'is no integer');
    else if (aggregateVersion < 0) fault('aggregateVersion', `is ${aggregateVersion}, want 0 or more`);
    const template = route?.key ?? defaultKey;
    const keyOf = (eventId: string) => filled(template, { eventId, eventType: event.type, eventVersion, aggregateId, aggregateVersion }, payload, lacks);
    const key = template.includes('{eventId}') ? undefined : keyOf(''); // it says by itself which event it is
    const eventId = event.eventId ?? (key === undefined ? eventIdOf(name, event.type, eventVersion, aggregateId, aggregateVersion) : eventIdOfKey(name, event.type, eventVersion, key));
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(eventId)) fault('eventId', 'is not a UUID');
    const occurredAt = timestamp(event.occurredAt ?? new Date());
    if (occurredAt === undefined) fault('occurredAt', 'is no timestamp from the year 1 to 9999');

    const span = spanOfContext();
    const fields: Fields = {
      eventId, eventType: event.type, eventVersion, aggregateId, aggregateVersion,
      idempotencyKey: key ?? keyOf(eventId),
      traceId: event.traceId ?? span.traceId,
      producer: box.slice, lane: route?.lane ?? 'STANDARD_LANE', dlqTier: route?.tier ?? 'REVIEW_REQUIRED',
      occurredAt, payload: payload ?? {}, status: 'pending',
      ...(event.aggregateType ? { aggregateType: event.aggregateType } : {}),
      ...(span.traceparent ? { traceparent: span.traceparent } : {}),
      ...(box.shards > 1 ? { shard: shardOf(String(aggregateId), box.shards) } : {}),
    };
    for (const field of texts) {
      const text = fields[field];
      if (text === undefined) continue;
      if (typeof text !== 'string') fault(field, `is ${named(text)}, want a string`);
      else if (!text.isWellFormed()) fault(field, 'is not valid Unicode');
      else if (field !== 'aggregateType' && bytes(text) > maxAttribute) fault(field, `is ${bytes(text)} bytes long, want ${maxAttribute} at most`);
    }
    if (fields.traceId === '') fault('traceId', 'is empty');
    faults.push(...schemaFaults);

    const id = fields.idempotencyKey.replaceAll('%', '%25').replaceAll('/', '%2F');
    if (bytes(id) > maxName) fault('idempotencyKey', `makes a document ID that is ${bytes(id)} bytes long, want ${maxName} at most`);
    const size = bytes(name) + 1 + bytes(id) + 1 + 16 + 32 + 'createdAt'.length + 9 + sizeOf(fields);
    if (size > maxDocument - relayRoom) {
      fault('', `makes a document of ${size} bytes, want ${maxDocument - relayRoom} at most, which leaves the relay room for its own fields`);
    }
    if (faults.length > 0) return { faults, outbox: name, size };
    const ref = this.#db.collection(name).doc(id);
    return { faults, outbox: name, size, record: { ref, data: { ...fields, createdAt: FieldValue.serverTimestamp() } } };
  }

  #schemaFaults(name: string, payload: Fields): Fault[] {
    let validate = this.#validators.get(name);
    if (!validate) this.#validators.set(name, (validate = this.#ajv.getSchema(scheme + name) ?? this.#ajv.compile({ $ref: scheme + name })));
    const form = jsonForm(payload);
    if (validate(form)) return [];
    const found = validate.errors!;
    // What an alternative says of itself is told once, by the keyword that holds it.
    const outer = found.filter((e) => !found.some((of) => alternatives.has(of.keyword) && e !== of && e.schemaPath.startsWith(of.schemaPath + '/')));
    const out = outer.map((e) => violation(e, form));
    return out.sort((a, b) => (a.field + a.problem < b.field + b.problem ? -1 : 1));
  }
}

/** What became of one event, if the transaction commits. */
export interface Result {
  ref: DocumentReference;
  idempotencyKey: string;
  /** The event was appended before, and nothing is written for it now. */
  repeated: boolean;
  /** Of a repeat those of the first append. */
  eventId: string;
  traceId: string;
}

export interface Prepared {
  results: Result[];
  write(tx: Transaction): void;
}

/** An event that was accepted: tx.create(record.ref, record.data). Only create is right: set would turn a delivered record into a pending one. */
export interface OutboxRecord {
  ref: DocumentReference;
  data: Fields;
}

/** One thing that is wrong: which field, dotted inside the payload, and what about it. Never a value of a payload. */
export interface Fault {
  field: string;
  problem: string;
}

export interface InvalidEvent {
  index: number;
  type: string;
  outbox: string;
  faults: Fault[];
}

/** Events that break the contract, or a limit: every fault of every one. Nothing was read or written. */
export class InvalidError extends Error {
  constructor(readonly events: InvalidEvent[], of: number) {
    const told = events.map((e) => `event ${of > 1 ? `${e.index} (${quoted(e.type)})` : quoted(e.type)}: ${e.faults.map(faultText).join('; ')}`);
    super(`append to outbox: ${told.join('; ')}`);
    this.name = 'InvalidError';
  }
}

export interface Collision {
  index: number;
  document: string;
  differs: string[];
}

/** Events whose key another event has already. Nothing was written, and trying again does not help. */
export class CollisionError extends Error {
  constructor(readonly collisions: Collision[]) {
    super(`append to outbox: ${collisions.map((c) => `${c.document} is another event already: ${c.differs.join(', ')} differs`).join('; ')}`);
    this.name = 'CollisionError';
  }
}

/** The ID of an event that brings none: the UUID, version 5, of these, joined by NUL. */
export function eventIdOf(outbox: string, eventType: string, eventVersion: number, aggregateId: string, aggregateVersion: number): string {
  return derived(outbox, eventType, eventVersion, aggregateId, aggregateVersion);
}

/** The same where the catalog has a key made without the event ID: two events that differ in it alone are two. */
export function eventIdOfKey(outbox: string, eventType: string, eventVersion: number, key: string): string {
  return derived(outbox, eventType, eventVersion, key);
}

function derived(...parts: (string | number)[]): string {
  const namespace = Buffer.from('be730d0911c6571684cd2c4e70e503f8', 'hex');
  const hash = createHash('sha1').update(namespace).update(parts.join('\0'), 'utf8').digest().subarray(0, 16);
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The shard of an aggregate's records: FNV-1a, 32 bits, of its ID, modulo shards. */
export function shardOf(aggregateId: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(aggregateId, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % shards;
}

// ---- below is nothing that a producer calls ----

type Fields = { [name: string]: any };
type Report = (field: string, problem: string) => void;

interface Route {
  type: string;
  version: number; // 0: any
  lane: string;
  tier: string;
  key: string; // the template of its idempotencyKey
  aggregate?: string; // that of its aggregateId
  schema?: string;
}

interface Box {
  slice: string;
  shards: number;
  events: Route[];
}

interface Draft {
  faults: Fault[];
  outbox: string;
  size: number;
  record?: OutboxRecord;
}

const scheme = 'catalog:///';
const defaultKey = '{eventId}:{aggregateId}:{aggregateVersion}';
const texts = ['eventId', 'eventType', 'aggregateType', 'aggregateId', 'idempotencyKey', 'traceId', 'producer'] as const;
const alternatives = new Set(['anyOf', 'oneOf', 'contains', 'propertyNames']);

// Limits of Firestore and Pub/Sub, in bytes, and what the relay needs for its own fields. A document within them makes no message over Pub/Sub's 10 MB.
const maxDocument = 1 << 20;
const relayRoom = 16 << 10;
const maxText = maxDocument - 89;
const maxName = 1500;
const maxAttribute = 1024;
const maxDepth = 20;
const maxTransaction = 10 << 20;
const overheadEach = 1 << 10;

// outboxOf finds the outbox of an event that names none: the only one that declares its type by name.
function outboxOf(event: Event, fault: Report): string | undefined {
  if (event.outbox !== undefined) return event.outbox;
  const type: string = event.type;
  const found = Object.entries(catalog.outboxes).filter(([, box]) => box.events.some((r) => r.type === type && !type.includes('*'))).map(([name]) => name);
  if (!type) fault('eventType', 'is empty');
  else if (found.length === 0) fault('eventType', `is ${quoted(type)}, which no outbox declares by name: name the outbox`);
  else if (found.length > 1) fault('eventType', `is declared by ${found.join(', ')}: name the outbox`);
  else return found[0];
  return undefined;
}

// routesOf returns the declared versions of a type, newest first. An exact type wins over a pattern, a longer pattern over a shorter one.
function routesOf(box: Box, type: string): Route[] {
  const rank = (r: Route) => (r.type.includes('*') ? r.type.length : Infinity);
  const matching = box.events.filter((r) => (r.type.includes('*') ? !!type && matches(r.type, type) : r.type === type));
  const best = Math.max(...matching.map(rank));
  return matching.filter((r) => rank(r) === best).sort((a, b) => b.version - a.version);
}

function matches(pattern: string, type: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(type);
}

// filled puts a record's fields and its payload's values into a template.
function filled(template: string, fields: Fields, payload: Fields | undefined, fault: Report): string {
  return template.replace(/\{([^}]*)\}/g, (_, name: string) => {
    if (!name.startsWith('payload.')) return String(fields[name]);
    let v: any = payload;
    for (const part of name.split('.').slice(1)) v = isObject(v) && Object.hasOwn(v, part) ? v[part] : undefined;
    if (v === undefined) fault(name, 'is missing');
    v = jsonForm(v);
    if (v !== undefined && !['string', 'number', 'boolean'].includes(typeof v)) fault(name, 'is neither text nor an integer nor a boolean, so that no key can be made of it');
    return String(v);
  });
}

function spanOfContext(): { traceId: string; traceparent?: string } {
  const span = trace.getSpanContext(context.active());
  if (!span || !isSpanContextValid(span)) return { traceId: randomBytes(16).toString('hex') };
  return { traceId: span.traceId, traceparent: `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 0xff).toString(16).padStart(2, '0')}` };
}

// timestamp returns what Firestore stores of a time, to the microsecond; undefined: nothing.
function timestamp(t: Date | Timestamp): Timestamp | undefined {
  if (t instanceof Date) {
    if (Number.isNaN(t.getTime()) || t.getTime() < -62_135_596_800_000 || t.getTime() > 253_402_300_799_999) return undefined;
    return Timestamp.fromMillis(t.getTime());
  }
  if (!(t instanceof Timestamp)) return undefined;
  return new Timestamp(t.seconds, t.nanoseconds - (t.nanoseconds % 1000));
}

// plain copies a payload's value, and reports what Firestore or JSON could not carry.
function plain(v: unknown, at: string, fault: Report, depth: number): unknown {
  switch (typeof v) {
    case 'boolean':
      return v;
    case 'number':
      if (!Number.isFinite(v)) fault(at, 'is not a finite number');
      return v;
    case 'string':
      if (!v.isWellFormed()) fault(at, 'is not valid Unicode');
      else if (bytes(v) > maxText) fault(at, `is ${bytes(v)} bytes long, want ${maxText} at most`);
      return v;
    case 'object':
      break;
    default:
      if (v !== undefined || depth > 1) fault(at, `is ${named(v)}, which JSON cannot carry`);
      return undefined;
  }
  if (v === null) return null;
  if (v instanceof Date || v instanceof Timestamp) {
    const t = timestamp(v);
    if (!t) fault(at, 'is no timestamp from the year 1 to 9999');
    return t;
  }
  if (v instanceof Uint8Array) {
    if (v.length > maxText) fault(at, `is ${v.length} bytes long, want ${maxText} at most`);
    return Buffer.from(v);
  }
  if (depth > maxDepth) {
    fault(at, `lies deeper than ${maxDepth} levels`);
    return null;
  }
  if (Array.isArray(v)) {
    return Array.from(v, (item, i) => {
      if (Array.isArray(item)) fault(`${at}[${i}]`, 'is an array directly within an array, which Firestore does not store: put a map in between');
      return Array.isArray(item) ? null : plain(item, `${at}[${i}]`, fault, depth + 1);
    });
  }
  if (!isObject(v)) {
    fault(at, `is ${named(v)}, which JSON cannot carry`);
    return null;
  }
  return Object.fromEntries(Object.entries(v).map(([name, item]) => {
    const below = below_(at, name);
    if (name === '') fault(at, 'has a key that is empty');
    else if (!name.isWellFormed()) fault(at, 'has a key that is not valid Unicode');
    else if (/^__.*__$/s.test(name)) fault(at, 'has a key that is reserved by Firestore, as every __name__');
    else if (bytes(below.replaceAll(/\[\d+\]/g, '')) > maxName) fault(at, `has a key that makes a path of more than ${maxName} bytes with those above it`);
    return [name, plain(item, below, fault, depth + 1)];
  }));
}

// below_ names a key of what is at a place, as the relay's faults do.
function below_(at: string, name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$-]*$/.test(name) ? `${at}.${name}` : `${at}[${JSON.stringify(name)}]`;
}

function isObject(v: unknown): v is Fields {
  if (typeof v !== 'object' || v === null) return false;
  const prototype = Object.getPrototypeOf(v);
  return prototype === null || prototype === Object.prototype;
}

// jsonForm is a plain value as the record's envelope has it: timestamps and bytes are strings.
function jsonForm(v: unknown): any {
  if (v instanceof Timestamp) {
    const seconds = new Date(v.seconds * 1000).toISOString().slice(0, 19);
    const fraction = String(v.nanoseconds).padStart(9, '0').replace(/0+$/, '');
    return `${seconds}${fraction && '.'}${fraction}Z`;
  }
  if (v instanceof Uint8Array) return Buffer.from(v).toString('base64');
  if (Array.isArray(v)) return v.map(jsonForm);
  if (typeof v === 'bigint') return Number(v);
  if (isObject(v)) return Object.fromEntries(Object.keys(v).sort().map((name) => [name, jsonForm(v[name])]));
  return v;
}

// differences lists the fields in which two records of one key are not the same event.
function differences(stored: Fields, record: Fields): string[] {
  const same = (field: string, otherwise?: unknown) => JSON.stringify(jsonForm(stored[field] ?? otherwise)) === JSON.stringify(jsonForm(record[field] ?? otherwise));
  return [['eventType'], ['eventVersion', 1], ['aggregateType', ''], ['aggregateId'], ['payload']].filter(([field, otherwise]) => !same(field as string, otherwise)).map(([field]) => field as string);
}

function sizeOf(v: any): number {
  if (typeof v === 'string') return bytes(v) + 1;
  if (typeof v === 'number' || v instanceof Timestamp) return 8;
  if (v instanceof Uint8Array) return v.length;
  if (Array.isArray(v)) return v.reduce((n, item) => n + sizeOf(item), 0);
  if (isObject(v)) return Object.entries(v).reduce((n, [name, item]) => n + bytes(name) + 1 + sizeOf(item), 0);
  return 1;
}

const bytes = (text: string) => Buffer.byteLength(text, 'utf8');
const quoted = (text: unknown) => JSON.stringify(String(text).slice(0, 100));
const faultText = (f: Fault) => (f.field ? `${f.field} ${f.problem}` : f.problem);
const article = (type: string) => (type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`);

function named(v: unknown): string {
  if (v === null || v === undefined) return String(v);
  if (Array.isArray(v)) return 'an array';
  if (typeof v === 'object' && !isObject(v)) return `a ${v.constructor?.name || 'class of its own'}`;
  return article(typeof v);
}

// multipleOf judges numbers as they are written, as the relay does: 19.99 is a multiple of 0.01, though no division of doubles says so.
function multipleOf(of: number, v: number): boolean {
  multipleOf.errors = [{ keyword: 'multipleOf', params: { multipleOf: of } }];
  const [a, b] = [decimal(v), decimal(of)];
  const least = Math.min(a.exponent, b.exponent);
  const whole = (d: typeof a) => d.digits * 10n ** BigInt(d.exponent - least);
  return whole(a) % whole(b) === 0n;
}
multipleOf.errors = [] as Partial<ErrorObject>[]; // of the last call, where ajv looks for them

// asTheRelay makes a pattern match what it matches for the relay, whose regular expressions are not JavaScript's.
function asTheRelay(pattern: string, flags: string): RegExp {
  return new RegExp(catalog.patterns.get(pattern) ?? pattern, flags);
}
asTheRelay.code = 'new RegExp'; // where ajv is asked for text, as it is not here

function decimal(v: number): { digits: bigint; exponent: number } {
  const [mantissa, exponent = '0'] = String(v).split('e');
  const [whole, fraction = ''] = mantissa!.split('.');
  return { digits: BigInt(whole! + fraction), exponent: Number(exponent) - fraction.length };
}

// violation says what a schema wants, never what the payload holds.
function violation(e: ErrorObject, payload: unknown): Fault {
  let field = 'payload';
  let v: any = payload;
  for (const token of e.instancePath.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    field = Array.isArray(v) ? `${field}[${name}]` : below_(field, name);
    v = v?.[name];
  }
  const p = e.params as any;
  switch (e.keyword) {
    case 'required': return { field: below_(field, p.missingProperty), problem: 'is missing' };
    case 'additionalProperties': return { field: below_(field, p.additionalProperty), problem: 'is not allowed by its schema' };
    case 'type': return { field, problem: `is ${named(v)}, want ${[p.type].flat().map(article).join(' or ')}` };
    case 'enum': return { field, problem: 'is none of the values that its schema allows' };
    case 'const': return { field, problem: 'is not the value that its schema wants' };
    case 'pattern': return { field, problem: `does not match ${p.pattern}` };
    case 'minLength': return { field, problem: `is ${[...v].length} characters long, want ${p.limit} at least` };
    case 'maxLength': return { field, problem: `is ${[...v].length} characters long, want ${p.limit} at most` };
    case 'minItems': return { field, problem: `has ${v.length} items, want ${p.limit} at least` };
    case 'maxItems': return { field, problem: `has ${v.length} items, want ${p.limit} at most` };
    case 'minProperties': return { field, problem: `has ${Object.keys(v).length} properties, want ${p.limit} at least` };
    case 'maxProperties': return { field, problem: `has ${Object.keys(v).length} properties, want ${p.limit} at most` };
    case 'minimum': return { field, problem: `is less than ${p.limit}` };
    case 'maximum': return { field, problem: `is more than ${p.limit}` };
    case 'exclusiveMinimum': return { field, problem: `is not more than ${p.limit}` };
    case 'exclusiveMaximum': return { field, problem: `is not less than ${p.limit}` };
    case 'multipleOf': return { field, problem: `is not a multiple of ${p.multipleOf}` };
    case 'anyOf': return { field, problem: 'fits none of the alternatives of its schema' };
    case 'oneOf': return { field, problem: 'does not fit exactly one of the alternatives of its schema' };
    case 'contains': return { field, problem: 'has too few of the items that its schema wants' };
    case 'false schema': return { field, problem: 'is not allowed by its schema' };
  }
  return { field, problem: `violates ${e.keyword} of its schema` };
}
