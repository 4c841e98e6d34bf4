// The steps (tests/real_clients/programs/steps.py) with kafkajs.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(import.meta.url)
const { Kafka, logLevel } = require('kafkajs')

const PATIENCE_MS = 30_000

const copyOf = value => `copy of ${value}`
const tell = said => process.stdout.write(JSON.stringify(said) + '\n')
const isFenced = error => [error.type, error.cause?.type].includes('PRODUCER_FENCED')

const retry = { initialRetryTime: 50, maxRetryTime: 500, retries: 50 }
process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1'

const kafka = new Kafka({
  clientId: 'kafkajs',
  brokers: [process.argv[2]],
  retry,
  logLevel: logLevel.WARN,
  // Its own logger writes to standard output, where the answers go.
  logCreator: () => ({ log }) => process.stderr.write(`${log.timestamp} ${log.message} ${log.error ?? ''}\n`),
})

class Steps {
  producers = {} // name -> { made, transaction }
  readers = {} // name -> { consumer, queue, wake, topic, group }
  copiers = {} // name -> { id, group, source, target }

  version() {
    return require('kafkajs/package.json').version
  }

  // ---------------------------------------------------------------- transactions

  // The id is taken with the first transaction (EosManager.initProducerId), so that one is opened here already.
  async producer({ name, id, timeout_ms: timeout = 60_000 }) {
    const made = kafka.producer({
      transactionalId: id,
      transactionTimeout: timeout,
      idempotent: true,
      maxInFlightRequests: 1,
      retry: { ...retry, retries: Number.MAX_SAFE_INTEGER },
    })
    await made.connect()
    this.producers[name] = { made, transaction: await made.transaction(), isNew: true }
  }

  async begin({ name }) {
    const producer = this.producers[name]
    if (!producer.isNew) producer.transaction = await producer.made.transaction()
    producer.isNew = false
  }

  async send({ name, topic, partition, value }) {
    await this.producers[name].transaction.send({ topic, messages: [{ partition, value }] })
  }

  async commit({ name }) {
    await this.producers[name].transaction.commit()
  }

  async abort({ name }) {
    await this.producers[name].transaction.abort()
  }

  // ---------------------------------------------------------------- reading

  async reader({ name, group, topic, isolation }) {
    const reader = (this.readers[name] = {
      consumer: await this.consumer(group, topic, isolation),
      queue: [],
      wake: () => {},
    })
    await reader.consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        reader.queue.push({ partition, offset: message.offset, value: message.value.toString() })
        reader.wake()
      },
    })
  }

  async consumer(groupId, topic, isolation) {
    const consumer = kafka.consumer({
      groupId,
      readUncommitted: isolation === 'read_uncommitted',
      sessionTimeout: 2_000,
      heartbeatInterval: 500,
      maxWaitTimeInMs: 200,
    })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    return consumer
  }

  async read({ name, count, within_ms: within }) {
    return (await this.messages(name, count, within)).map(({ value }) => value)
  }

  async messages(name, count, within) {
    const reader = this.readers[name]
    const until = Date.now() + within
    while (reader.queue.length < count && Date.now() < until) {
      await new Promise(resolve => {
        reader.wake = resolve
        setTimeout(resolve, until - Date.now())
      })
    }
    return reader.queue.splice(0, count)
  }

  async committed({ group, topic, partition }) {
    const told = (await offsets(group, topic)).find(each => each.partition === partition)
    return told === undefined || Number(told.offset) < 0 ? null : Number(told.offset)
  }

  // ---------------------------------------------------------------- copying

  async copier({ name, id, group, source, target }) {
    this.copiers[name] = { id, group, source, target }
    await this.producer({ name, id })
  }

  async copy({ name, count, ends }) {
    const { group, source, target } = this.copiers[name]
    if (!this.readers[name]) await this.reader({ name, group, topic: source, isolation: 'read_committed' })
    const found = await this.messages(name, count, PATIENCE_MS)
    if (found.length < count) throw new Error(`${count - found.length} of ${count} records did not come`)
    await this.begin({ name })
    await copies(this.producers[name].transaction, this.copiers[name], found)
    if (ends === 'commit') return this.commit({ name })
    await this.abort({ name })
    const { consumer, queue } = this.readers[name]
    const told = await offsets(group, source)
    queue.length = 0
    rewind(consumer, source, told)
  }

  // A batch is of one partition. What can be aborted is, a commit whose outcome is unknown takes a new producer.
  async loop({ name }) {
    const { group, source } = this.copiers[name]
    const consumer = await this.consumer(group, source, 'read_committed')
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
        for (let at = 0; at < batch.messages.length && isRunning() && !isStale(); at += 5) {
          const found = batch.messages
            .slice(at, at + 5)
            .map(({ offset, value }) => ({ partition: batch.partition, offset, value: value.toString() }))
          try {
            await this.begin({ name })
            await copies(this.producers[name].transaction, this.copiers[name], found)
            await this.commit({ name })
          } catch (error) {
            process.stderr.write(`${error.stack}\n`)
            if (isFenced(error)) process.exit(1)
            await this.recover(name)
            rewind(consumer, source, await offsets(group, source))
            return
          }
          tell({ copied: found.length })
          resolveOffset(found.at(-1).offset)
          await heartbeat()
        }
      },
    })
    await new Promise(() => {})
  }

  async recover(name) {
    const { made, transaction } = this.producers[name]
    try {
      if (transaction.isActive()) return await transaction.abort()
    } catch (error) {
      process.stderr.write(`${error.stack}\n`)
    }
    await made.disconnect()
    await this.producer({ name, id: this.copiers[name].id })
  }
}

async function copies(transaction, { group, source, target }, found) {
  const messages = found.map(({ partition, value }) => ({ partition, value: copyOf(value) }))
  await transaction.send({ topic: target, messages })
  const next = Object.fromEntries(found.map(({ partition, offset }) => [partition, `${BigInt(offset) + 1n}`]))
  const partitions = Object.entries(next).map(([partition, offset]) => ({ partition: Number(partition), offset }))
  await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic: source, partitions }] })
}

function rewind(consumer, topic, committed) {
  for (const { partition, offset } of committed) {
    consumer.seek({ topic, partition, offset: Number(offset) < 0 ? '0' : offset })
  }
}

async function offsets(groupId, topic) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return (await admin.fetchOffsets({ groupId, topics: [topic] }))[0].partitions
  } finally {
    await admin.disconnect()
  }
}

const steps = new Steps()
for await (const line of createInterface({ input: process.stdin })) {
  const { do: step, ...words } = JSON.parse(line)
  try {
    tell({ ok: (await steps[step](words)) ?? null })
  } catch (error) {
    tell({ error: error.type ?? error.cause?.type ?? error.name, says: `${error.name}: ${error.message}` })
  }
}
process.exit(0)
